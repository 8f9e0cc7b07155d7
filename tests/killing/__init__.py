"""Processes that are killed while they write and sync, over and over, and an audit of what they had acknowledged."""
