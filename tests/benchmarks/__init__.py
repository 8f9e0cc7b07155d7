"""Benchmarks: what the library costs beside a log written by hand. ``python -m tests.benchmarks --help``"""
