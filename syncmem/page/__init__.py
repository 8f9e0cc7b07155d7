"""What all pages are made of, those of ``syncmem view`` and the relay's: frame, style, tables, and their templates.

Rules: templates escape whatever is put into them; a page that stands alone carries its style and allows nothing else;
nothing here knows what a memory is, so a relay may use it.  Needs jinja2, which who makes pages imports late.
"""
