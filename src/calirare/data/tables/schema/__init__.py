"""How gathered rows become numbers: learned once, kept as plain data, repeated on later tables."""
