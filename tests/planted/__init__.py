"""Bugs planted outside of the fold, each of which a named test must catch: ``python -m tests.planted``."""
