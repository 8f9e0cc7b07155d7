"""A year with an assistant, simulated: what is asked, and what is wrong for how long; ``python -m tests.simulated_year``."""
