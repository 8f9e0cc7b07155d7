"""The memory as tools for a model, spoken to as models' hosts do."""
