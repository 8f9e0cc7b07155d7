"""Devices, mailboxes and everything that goes wrong with them, in one thread and from one seed; see ``__main__``.

A seed draws a world and a list of steps; a step is a plain JSON object that says all that was chosen.  The list alone
(a *trace*) makes the same run again, so a failure can be cut down to the few steps that it needs and be kept.  The
engine is the real one; clock, network, randomness, side files and keyring are virtual, SQLite files lie in memory.
"""
