"""Scores over HTTP: the service behind `calirare serve`, and the rules of access that the desk shares with it."""
