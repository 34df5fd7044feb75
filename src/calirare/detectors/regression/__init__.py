"""The regression under `linear`: the columns that it may read, and the model that was fitted to them."""
