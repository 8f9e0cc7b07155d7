"""Tests of the pages of ``syncmem view``."""
