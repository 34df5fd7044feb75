"""A fitted model as a folder that is safe to load."""
