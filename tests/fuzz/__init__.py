"""Fuzzing: every reader of foreign bytes, given any bytes. ``python -m tests.fuzz --help``"""
