"""Loss of power: SQLite on a disk that keeps only what was synced, and of the rest what chance will have.

Every write path of the library runs once on a disk that records each operation; then the power is lost after each of
them, and the memory that is opened on what is left must hold all that was acknowledged.  Needs ``apsw``
(``pip install 'syncmem[power-tests]'``), whose SQLite is the only one of its process: see :mod:`tests.power.library`.
"""
