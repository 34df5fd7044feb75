"""Several tables as one: which column holds the ids, which row is which node, what kind it is of."""
