"""Single cases decided one by one, each at its own prices: what a service is asked about as things happen."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calirare.decisions.costs import Costs, decide
from calirare.decisions.triage import require_natural
from calirare.decisions.wording import write_costs
from calirare.estimator.classifier import RareCategoryClassifier


def decide_cases(
    classifier: RareCategoryClassifier,
    scores: Mapping[str, np.ndarray],
    costs: Costs,
    budget: int | None = None,
) -> dict[str, np.ndarray]:
    """Alert, review or clear, in the order of the cases; a budget is for these cases together.

    Args:
        classifier: That scored them, with `prior="natural"`.
        scores: `id`, `probability`, `lower` and `upper`, as `score_table` gives them.
        costs: Prices, for all or one per case.
        budget: Most reviews; None: wherever one pays.

    >>> import calirare as cr
    >>> from calirare.scoring.table import score_table
    >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.9, rare_share=0.2, seed=0)
    >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
    >>> found = decide_cases(clf, score_table(clf, graph), Costs(miss=np.full(300, 1e6)))
    >>> sorted(set(found["action"].tolist()))
    ['alert', 'review']
    """
    require_natural(classifier)
    probability, lower, upper = scores["probability"], scores["lower"], scores["upper"]
    costs.expected(probability)  # prices per case must speak of these cases
    decisions = decide(probability, costs, budget)
    return {
        "id": scores["id"],
        "probability": probability,
        "lower": lower,
        "upper": upper,
        "action": decisions.action,
        "reason": write_costs(probability, decisions, costs),
        "expected_cost": decisions.cost,
        "review_saves": decisions.gain,
    }
