"""What people say one after the other, and what must be believed then; ``python -m tests.contradictions``."""
