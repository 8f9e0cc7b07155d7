"""What is believed, for people and for other tools: Markdown, JSON, a SQLite file of plain tables.

These are views, not backups: what was believed before, and why, stays in the memory; :meth:`syncmem.Memory.backup` and
:meth:`syncmem.Memory.export_bundle` keep all of it.
"""
