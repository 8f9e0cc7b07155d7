"""Public reports about memory systems, each as a small case that must come out right here; see README.md."""
