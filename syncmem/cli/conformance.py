"""``syncmem conformance``: speaks the harness of the protocol on its standard input and output."""

from __future__ import annotations

import sys

import click


@click.command("conformance")
def conformance() -> None:
    """Answer the protocol's test vectors, one line of JSON each.

    For authors of other implementations: protocol/harness.md says what may be asked.
    """
    from syncmem.conformance.harness import serve

    serve(sys.stdin.buffer, sys.stdout.buffer)
