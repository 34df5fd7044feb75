"""Penalised logistic regression as such: its optimum, and what it would say without some of its labels."""
