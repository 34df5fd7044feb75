"""Scores of new and changed nodes, from their surroundings alone."""
