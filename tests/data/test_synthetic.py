"""make_transactions: labels come from true_probability, which is a function of what the graph shows."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from calirare.data.synthetic import SHARPNESS, account_risk, make_transactions
from calirare.data.synthetic_accounts import account_suspicion
from calirare.errors import InputError


def slow_risk(graph):
    """The formula of the docstring, node by node."""
    weights = np.array([0.3, 0.5, -0.6, 0.4, 0.6, 0.5, 0.6, 0.5])
    own = graph.x[:, :8].astype(float) @ weights
    risk = []
    for v in range(graph.num_nodes):
        near = graph.edge_index[1][graph.edge_index[0] == v]
        company = np.maximum(own[near], 0).mean() if near.size else 0.0
        risk.append(0.6 * own[v] + 2.5 * company + 0.3 * max(own[v], 0) * company)
    return np.array(risk)


def test_probability_is_the_documented_function_of_features_and_edges():
    graph = make_transactions(400, average_degree=3, seed=1)
    risk = slow_risk(graph)
    assert np.allclose(account_risk(graph.x, graph.edge_index), risk)
    intercept = logit(graph.true_probability) - SHARPNESS * risk
    assert np.ptp(intercept) < 1e-6


@pytest.mark.parametrize("share", [0.5, 0.05, 0.001])
def test_mean_probability_is_the_asked_share_and_labels_follow_it(share):
    graph = make_transactions(20_000, rare_share=share, seed=2, with_payments=False)
    p = graph.true_probability
    assert abs(p.mean() - share) < 1e-8
    # Hosmer-Lemeshow with the known probabilities: labels drawn from p pass, labels drawn from anything else do not.
    order = np.argsort(p)
    bins = np.array_split(order, 4 if share < 0.01 else 10)
    spread = [(graph.y[b].sum() - p[b].sum()) ** 2 / (p[b] * (1 - p[b])).sum() for b in bins]
    assert chi2.sf(sum(spread), len(bins)) > 1e-3


def test_graph_is_learnable_but_not_separable_and_edges_matter():
    graph = make_transactions(5_000, seed=0)
    best = average_precision_score(graph.y, graph.true_probability)
    table = LogisticRegression(max_iter=1000).fit(graph.x[:2500], graph.y[:2500]).predict_proba(graph.x[2500:])[:, 1]
    alone = average_precision_score(graph.y[2500:], table)
    assert 0.65 < best < 0.9
    assert 0.35 < alone < best - 0.1
    source, target = graph.edge_index
    fraud_near_fraud = graph.y[target[graph.y[source] == 1]].mean()
    assert 3 * graph.rare_share < fraud_near_fraud < 0.7  # rings, camouflaged


def test_same_seed_same_network_and_other_seed_another():
    first, again, other = (make_transactions(500, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(first.x, again.x) and np.array_equal(first.y, again.y)
    assert np.array_equal(first.edge_index, again.edge_index)
    assert not np.array_equal(first.y, other.y)


def test_sizes_names_and_units():
    graph = make_transactions(3_000, num_features=15, average_degree=7, seed=0)
    assert graph.x.shape == (3000, 15) and graph.x.dtype == np.float32
    assert graph.num_edges == 10_500
    assert np.allclose(graph.x.mean(axis=0), 0, atol=1e-4) and np.allclose(graph.x.std(axis=0), 1, atol=1e-4)
    assert graph.feature_names[-1] == "volume_week_03_log10"
    assert graph.ids[0] == "A0000001" and graph.ids[-1] == "A0003000" and np.unique(graph.ids).size == 3000
    columns = {column["name"]: k for k, column in enumerate(graph.schema["columns"])}
    for name in ("night_share", "round_amount_share", "country_risk", "incoming_share"):
        column = graph.schema["columns"][columns[name]]
        raw = graph.x[:, columns[name]] * column["scale"] + column["mean"]
        assert raw.min() > -1e-4 and raw.max() < 1 + 1e-4


def test_hidden_labels_are_kept_apart():
    graph = make_transactions(5_000, labelled_share=0.3, seed=0)
    known = graph.y != -1
    assert 0.25 < known.mean() < 0.35
    assert np.array_equal(graph.y[known], graph.original_y[known])
    assert set(np.unique(graph.original_y)) == {0, 1}


def test_smallest_networks_work():
    for degree in (0, 1, 4):
        graph = make_transactions(10, average_degree=degree, seed=0)
        assert graph.num_nodes == 10 and graph.num_edges <= 5 * degree


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_nodes": 3}, "num_nodes must be a whole number, 10 or more; got 3"),
        ({"num_nodes": 1e3}, "num_nodes"),
        ({"num_features": 7}, "num_features must be a whole number, 8 or more"),
        ({"rare_share": 0.0}, "rare_share"),
        ({"rare_share": float("nan")}, "rare_share"),
        ({"labelled_share": 0}, "labelled_share"),
        ({"average_degree": -1}, "average_degree"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        make_transactions(**{"num_nodes": 100, **arguments})


def test_payments_show_what_the_accounts_do_and_leave_the_network_alone():
    graph, bare = make_transactions(3_000, seed=3), make_transactions(3_000, seed=3, with_payments=False)
    for name in ("x", "y", "edge_index", "true_probability"):
        assert np.array_equal(getattr(graph, name), getattr(bare, name)), name
    assert bare.edges is None and "columns" not in bare.schema["edges"]
    edges = graph.edges
    amount, when, channel = edges.columns
    pairs = {tuple(sorted(pair)) for pair in zip(edges.source.tolist(), edges.target.tolist(), strict=True)}
    assert pairs == {(a, b) for a, b in graph.edge_index.T.tolist() if a < b}  # every edge, and no other, was paid
    assert (np.diff(when.values) >= 0).all() and (amount.values > 0).all()
    units = {
        column["name"]: graph.x[:, k] * column["scale"] + column["mean"]
        for k, column in enumerate(graph.schema["columns"])
    }
    payer = edges.source
    night = (when.values % 86_400) < 6 * 3_600
    expected = {"night_share": night, "round_amount_share": amount.values % 10 == 0}
    for name, seen in expected.items():  # within four standard errors of the payers' own shares
        share = units[name][payer]
        error = np.sqrt((share * (1 - share)).sum()) / payer.size
        assert abs(seen.mean() - share.mean()) < 4 * error + 0.01, name
    log = np.log10(amount.values) - units["amount_mean_log10"][payer]
    assert abs(np.median(log)) < 0.05
    suspicion = account_suspicion(graph.x)
    cash = channel.values == channel.categories.index("cash")
    rate = 1 / (1 + np.exp(3 - 2 * suspicion[payer]))
    assert abs(cash.mean() - rate.mean()) < 4 * np.sqrt((rate * (1 - rate)).sum()) / payer.size
    outgoing = np.bincount(payer, minlength=graph.num_nodes) / np.bincount(
        np.concatenate([payer, edges.target]), minlength=graph.num_nodes
    ).clip(1)
    assert np.corrcoef(outgoing, units["incoming_share"])[0, 1] < -0.4


def test_few_features_have_payments_too():
    assert len(make_transactions(100, num_features=8, seed=0).edges) >= 490
