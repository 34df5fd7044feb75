"""Two tables, as users have them, read into a graph."""
