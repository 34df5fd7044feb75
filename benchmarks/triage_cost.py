"""What triage costs on generated transaction networks, and whether it predicted it.

For each seed a network is generated, a fifth of its accounts labelled at random, a model fitted, and every other account
decided. First table: realised cost per 1,000 accounts by policy, mean over the seeds with its standard error, and in how
many seeds triage was cheaper. Second table: how often the realised cost, and the realised number of rare accounts in each
group, lay in the predicted interval.

The weight decay is 5e-3, as `calirare fit` has it for tables.

    python benchmarks/triage_cost.py --seeds 20
"""

from __future__ import annotations

import argparse

import numpy as np

import calirare as cr
from calirare.decisions.costs import Costs, decide
from calirare.decisions.triage import Triage

COVERAGE = 0.9


def alerts_where(chosen: np.ndarray) -> np.ndarray:
    return np.where(chosen, "alert", "clear")


def top(score: np.ndarray, count: int) -> np.ndarray:
    """Whether each score is among the highest."""
    chosen = np.zeros(score.size, dtype=bool)
    chosen[np.argsort(-score, kind="stable")[:count]] = True
    return chosen


def run_seed(seed: int, args: argparse.Namespace) -> tuple[dict[str, np.ndarray], dict[str, Triage], np.ndarray]:
    """(actions by policy, tables by policy, truth), in the order of the nodes."""
    graph = cr.make_transactions(num_nodes=args.nodes, seed=seed)
    split = cr.split_labels(
        graph, train_fraction=args.labelled, val_fraction=0.0, test_fraction=1 - args.labelled, seed=seed
    )
    ours = cr.RareCategoryClassifier(
        detector=cr.detectors.GCN(epochs=args.epochs, weight_decay=args.weight_decay), seed=seed
    )
    trained = ours.fit_detector(graph, split)
    ours.calibrate(trained, graph, split)
    plain = cr.RareCategoryClassifier(
        detector=cr.detectors.GCN(epochs=args.epochs, weight_decay=args.weight_decay), method="uncalibrated", seed=seed
    ).calibrate(trained, graph, split)
    costs = (args.cost_miss, args.cost_alarm, args.cost_review)
    prices = Costs(*costs)
    tables = {
        "triage": cr.triage(ours, graph, *costs, coverage=COVERAGE),
        f"triage, {args.budget} looks": cr.triage(ours, graph, *costs, args.budget, coverage=COVERAGE),
        "triage, no looks": cr.triage(ours, graph, *costs, 0, coverage=COVERAGE),
    }
    nodes = np.sort(tables["triage"].node)
    actions = {name: table.action[np.argsort(table.node)] for name, table in tables.items()}
    score = plain.predict_proba(graph)[nodes, graph.rare_class]
    expected_rare = round(float(ours.shares_[graph.rare_class]) * nodes.size)
    actions["uncalibrated, alert above 0.5"] = alerts_where(score > 0.5)
    actions["uncalibrated, Bayes threshold"] = decide(score, prices, 0).action
    actions["alert the top k, k = expected rare"] = alerts_where(top(score, expected_rare))
    actions[f"look at the top {args.budget}, clear the rest"] = np.where(top(score, args.budget), "review", "clear")
    actions["alert nobody"] = alerts_where(np.zeros(nodes.size, dtype=bool))
    truth = graph.true_probability[nodes]
    actions["bound: triage by the true P(rare)"] = decide(truth, prices).action
    actions["bound: the same, no looks"] = decide(truth, prices, 0).action
    return actions, tables, graph.y[nodes] == graph.rare_class


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=3_000)
    parser.add_argument("--labelled", type=float, default=0.2)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--weight-decay", type=float, default=5e-3)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--cost-miss", type=float, default=50)
    parser.add_argument("--cost-alarm", type=float, default=5)
    parser.add_argument("--cost-review", type=float, default=1)
    args = parser.parse_args()
    prices = Costs(args.cost_miss, args.cost_alarm, args.cost_review)
    realised: dict[str, list[float]] = {}
    inside: dict[tuple[str, str], list[bool]] = {}
    for seed in range(args.seeds):
        actions, tables, rare = run_seed(seed, args)
        for name, action in actions.items():
            realised.setdefault(name, []).append(1_000 * prices.realised(action, rare).mean())
        for name, table in tables.items():
            cost = prices.realised(actions[name], rare).sum()
            total = table.groups["all"].cost
            inside.setdefault((name, "cost of all"), []).append(total.lower <= cost <= total.upper)
            for group in ("alert", "review", "clear"):
                count, found = rare[actions[name] == group].sum(), table.groups[group].rare
                if table.groups[group].num_nodes:
                    inside.setdefault((name, f"rare in {group}"), []).append(found.lower <= count <= found.upper)
    show(realised, inside, args)


def show(realised: dict[str, list[float]], inside: dict[tuple[str, str], list[bool]], args: argparse.Namespace) -> None:
    ours = np.array(realised["triage"])
    print(
        f"{args.seeds} networks of {args.nodes} accounts, {args.labelled:.0%} labelled; costs: miss {args.cost_miss:g},"
    )
    print(f"alarm {args.cost_alarm:g}, look {args.cost_review:g}. Realised cost per 1,000 accounts:\n")
    print(f"{'policy':42s} {'cost':>7s} {'±':>5s}  triage cheaper in")
    for name, values in realised.items():
        cost = np.array(values)
        error = cost.std(ddof=1) / np.sqrt(cost.size) if cost.size > 1 else float("nan")
        print(f"{name:42s} {cost.mean():7.0f} {error:5.0f}  {(ours < cost).sum()} of {cost.size}")
    print(f"\nRealised values inside the predicted {COVERAGE:.0%} interval:\n")
    for (name, what), hits in inside.items():
        print(f"{name:24s} {what:16s} {np.mean(hits):6.1%} of {len(hits)}")


if __name__ == "__main__":
    main()
