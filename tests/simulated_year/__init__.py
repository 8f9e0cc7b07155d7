"""A year with an assistant, simulated: what is asked, and for how long what is wrong; see ``__main__``."""
