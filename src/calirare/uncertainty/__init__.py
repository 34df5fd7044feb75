"""How sure the answer for a node is: jackknife intervals, conformal sets, explanations."""
