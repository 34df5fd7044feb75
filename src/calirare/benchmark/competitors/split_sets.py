"""Split conformal sets as they come."""

from __future__ import annotations

from calirare.benchmark.competitors.set_scores import sets_competitor

COMPETITORS = (sets_competitor("gcn + split sets", lambda problem, scores: scores, "vovk2005"),)
