"""Makes the test vectors: ``python -m protocol.vectors.generate`` from the project's folder writes them all anew.

Rules: a vector comes from a short function with fixed secrets, so it is the same wherever and whenever it is
made; hashes, derivations and seals are computed here from the text of the protocol, not by the code that is
tested; the outcome of a vector is stated by its author, never copied from what the library says.
"""
