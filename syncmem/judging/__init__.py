"""Judging: from what was said to what is believed.

Rules: what is heard becomes candidates, and one decision function says what becomes of each; a model only
proposes, so decisions are the same without one wherever names are known; nothing here folds or makes new kinds
of events: all of it ends in the verbs that a user has.
"""
