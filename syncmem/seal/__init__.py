"""The one door to cryptographic keys. Randomness is an argument everywhere."""
