"""Sparse matrices for torch: products with gradients, fixed patterns, and those by which neighbours pass messages."""
