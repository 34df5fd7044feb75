"""Leave-one-out by influence: what a model would say without each label."""
