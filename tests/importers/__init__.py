"""Importers: archives of other programs."""
