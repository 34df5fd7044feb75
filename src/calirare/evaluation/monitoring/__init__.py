"""What becomes of a model in use: a small time series in the database of the decisions, and alarms on it."""
