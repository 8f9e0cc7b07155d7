"""The conformance harness: one line of JSON asks, one line of JSON answers (protocol/harness.md).

It lets the test vectors, and other implementations, question this one byte by byte.  Nothing here decides
anything: each word of the harness is a thin way to the code that syncs and folds.
"""
