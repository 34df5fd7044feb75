"""Graph neural networks: their layers, objectives, and the one loop that fits them."""
