"""Graphs with a rare class: from tables, from PyG, from the benchmarks, or generated."""
