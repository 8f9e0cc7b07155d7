"""``python -m syncmem``: the command line without an installed script."""

from syncmem.cli import main

main()
