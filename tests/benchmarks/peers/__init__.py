"""Peers: what a user would otherwise pick, on the same work in the same run. ``python -m tests.benchmarks --peers``"""
