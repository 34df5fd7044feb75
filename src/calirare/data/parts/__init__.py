"""Graphs larger than memory, cut into parts on disk."""
