"""Recall: finding what is believed for a question, and proof of what was handed to a model."""
