"""One SQLite file and everything that reads or writes it."""
