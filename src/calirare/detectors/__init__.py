"""Detectors: a graph and some labels in; logits for every node, and left-out logits for the labelled ones, out."""
