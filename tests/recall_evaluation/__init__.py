"""The evaluation of recall: people and things, what was said of them over the years, and what is asked."""
