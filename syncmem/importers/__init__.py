"""Importers: what people have elsewhere, with its history.

An importer reads one form of archive and yields records (:mod:`syncmem.importers.records`): turns of conversations,
facts, and ends of facts, each with the times that the archive gives it.  What is done with them is the same for all
(:mod:`syncmem.importers.running`).  Other packages add kinds through the entry point group ``syncmem.importers``.
"""
