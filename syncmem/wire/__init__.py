"""Bytes in, bytes out: knows neither what events mean nor how keys come to be."""
