"""What it is worth to give triage the amount at stake of every account instead of one price for all.

Generated networks whose accounts have paid amounts: a missed fraud costs what the account has sent, a false alarm 5 % of the
mean amount, a review 1 % of it. Both policies see the same probabilities and the same budget; one weighs every account by its
own amount, the other by the mean amount. Both are charged by the amounts. Printed: expected cost (by the true P(rare), which
only a generator knows) and realised cost per account, and what the amounts save.

    python benchmarks/amounts.py --seeds 10
"""

from __future__ import annotations

import argparse

import numpy as np

import calirare as cr
from calirare.decisions.costs import Costs, check_actions, decide

BUDGETS = (None, 200, 50)


def amounts_sent(graph: cr.RareGraph) -> np.ndarray:
    """`(N,)` what each account has sent in all."""
    edges = graph.edges
    if edges is None:
        raise SystemExit("the network came without payments")
    amount = next(column.values for column in edges.columns if column.name == "amount")
    return np.bincount(edges.source, weights=amount, minlength=graph.num_nodes)


def charge(action: np.ndarray, costs: Costs, share: np.ndarray) -> float:
    """Mean cost of these actions where each node is rare with this probability, or certainty."""
    table, taken = costs.expected(share), check_actions(action)
    return float(np.select([taken == name for name in table], list(table.values())).mean())


def run_seed(seed: int, nodes: int, detector: str) -> dict[int | None, np.ndarray]:
    """By budget: expected and realised cost with amounts, then without."""
    graph = cr.make_transactions(nodes, seed=seed)
    split = cr.split_labels(graph, train_fraction=0.2, val_fraction=0.0, test_fraction=0.8, seed=seed)
    clf = cr.RareCategoryClassifier(detector=detector, seed=seed).fit(graph, split)
    p, test = clf.predict_proba(graph)[split.test, graph.rare_class], split.test
    truth, rare = graph.true_probability[test], (graph.y[test] == graph.rare_class).astype(float)
    at_stake = amounts_sent(graph)[test]
    mean = float(at_stake.mean())
    own = Costs(miss=at_stake, alarm=0.05 * mean, review=0.01 * mean)
    common = Costs(miss=mean, alarm=0.05 * mean, review=0.01 * mean)
    found = {}
    for budget in BUDGETS:
        actions = [decide(p, costs, budget).action for costs in (own, common)]
        found[budget] = np.array([charge(action, own, share) for action in actions for share in (truth, rare)])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--nodes", type=int, default=3_000)
    parser.add_argument("--detector", default="linear")
    args = parser.parse_args()
    runs = [run_seed(seed, args.nodes, args.detector) for seed in range(args.seeds)]
    print(
        f"{args.seeds} networks of {args.nodes:,} accounts, a fifth labelled; cost per account, mean over the networks"
    )
    print(f"{'most reviews':14} {'':9} {'amounts':>9} {'one price':>10} {'saved':>7}  lower in")
    for budget in BUDGETS:
        table = np.stack([run[budget] for run in runs])
        for place, what in enumerate(("expected", "realised")):
            ours, plain = table[:, place], table[:, 2 + place]
            saved = 1 - ours.mean() / plain.mean()
            name = "any number" if budget is None else str(budget)
            print(
                f"{name:14} {what:9} {ours.mean():9.1f} {plain.mean():10.1f} {saved:7.1%}  "
                f"{int((ours < plain).sum())} of {len(runs)} networks"
            )


if __name__ == "__main__":
    main()
