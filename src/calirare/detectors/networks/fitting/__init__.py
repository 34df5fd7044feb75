"""How a network is fitted: the one loop, its optimizers, the weights of labels, and the rest it comes to."""
