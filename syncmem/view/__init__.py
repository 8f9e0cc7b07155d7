"""``syncmem view``: pages on which somebody sees what is believed, since when, on whose word, and puts it right.

Rules: every page is made on this machine and works without a script; every picture stands beside a table; what
comes from the memory is text and never markup (templates escape always, pictures through :mod:`syncmem.picture.svg`);
only this machine is answered, and there only who was given the address; whatever is written is a user's statement.
Needs the extra ``syncmem[view]``; nothing here is imported before it is used.
"""
