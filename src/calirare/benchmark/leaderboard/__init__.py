"""The leaderboard: who finds rare nodes, whose probabilities can be believed, and what that costs.

`graphs` and `protocols` say what is asked, `calirare.benchmark.competitors` who answers, `cells` and `run` compute what is
missing, `page` turns the rows into `docs/leaderboard.md`.
"""
