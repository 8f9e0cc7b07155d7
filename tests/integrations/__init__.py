"""The interfaces of other libraries, run as their users run them."""
