"""What the tables say of each node, as columns with names a person can read."""
