"""Load: several processes write one replica at a steady rate while one syncs it; they may be killed again and again."""
