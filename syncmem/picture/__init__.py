"""Pictures of what is believed: a small drawing model, the geometry of the pictures, and their SVG.

Rules: geometry (``timeline``, ``rectangles``) knows no markup, ``svg`` knows nothing of beliefs; every text goes
through one escape; a picture never holds more shapes than can be seen, what is too much is gathered and says so.
Nothing here needs a package beside the standard library.
"""
