"""Generate transaction networks in which P(rare) of every account is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from calirare.data.arrays import UNKNOWN
from calirare.data.checks import check_count, is_number
from calirare.data.graph import RareGraph
from calirare.data.merging import merge_edges
from calirare.data.synthetic_accounts import (
    ATTRIBUTES,
    NUM_RISK_ATTRIBUTES,
    account_ids,
    account_suspicion,
    draw_features,
    in_units,
    own_risk,
)
from calirare.data.synthetic_payments import draw_payments, edge_schema
from calirare.errors import InputError

# How risk becomes probability; see `account_risk`. Chosen so that at 5% rare nodes the best possible average precision
# is near 0.75, a plain two-layer GCN comes near 0.6 and a logistic regression that sees no edges near 0.55: learnable,
# not separable.
OWN = 0.6
COMPANY = 2.5
JOINT = 0.3
SHARPNESS = 0.8

_BLOCK = 60  # accounts of a neighbourhood
_RING_SIZES = (4, 12)


def make_transactions(
    num_nodes: int = 5_000,
    *,
    rare_share: float = 0.05,
    num_features: int = len(ATTRIBUTES),
    average_degree: float = 10.0,
    labelled_share: float = 1.0,
    seed: int = 0,
    with_payments: bool = True,
) -> RareGraph:
    r"""A network of accounts that pay each other, some of them fraudulent, with P(fraud) known for every account.

    Accounts live in neighbourhoods and pay mostly inside them; a few busy ones are paid by everyone. Rings of 4 to 12
    accounts pay each other, lean towards night, round amounts, new counterparties and young accounts, and camouflage
    themselves: each hides about a third of its leanings and pays normal accounts as everyone does.

    The label of account v is drawn last, from what the graph shows:

        y_v ~ Bernoulli(p_v),   p_v = 1 / (1 + exp(-a - 0.8 r_v)),
        r_v = 0.6 s_v + 2.5 c_v + 0.3 max(s_v, 0) c_v,   s_v = w · x_v,   c_v = mean of max(s_u, 0) over neighbours u

    where w are the weights in `ATTRIBUTES` and a makes the mean of p equal `rare_share`. Neither features nor edges
    see the label, and r_v is a function of the features and edges alone, so `true_probability` is exactly
    P(rare | features, edges): no model can do better, and a perfect one equals it. The payments are drawn from features and
    edges alone and change nothing in that.

    Args:
        num_nodes: Accounts, up to tens of millions.
        rare_share: Expected share of fraudulent accounts, above 0 and up to 0.5.
        num_features: Columns, at least 8. After the twelve named ones come weekly volumes, which carry no risk.
        average_degree: Edges per account, on average; a little fewer in a network so small that it is full.
        labelled_share: Share of the accounts, drawn at random, whose label is known. The labels of the others are
            kept in `original_y` only, for judging; no method reads them there.
        seed: Same seed, same network.
        with_payments: Give every payment with its direction, amount and time in `graph.edges` (see
            `calirare.data.synthetic_payments`); the network is the same without them.

    Returns:
        A graph whose `x` is standardised; its `schema` holds the means and scales that give the table's units back.

    >>> graph = make_transactions(2_000, rare_share=0.1, seed=0)
    >>> graph.num_nodes, graph.num_edges, graph.ids[0].item(), graph.feature_names[2]
    (2000, 10000, 'A0000001', 'account_age_days')
    >>> round(float(graph.true_probability.mean()), 6)
    0.1
    """
    _check(num_nodes, rare_share, num_features, average_degree, labelled_share, seed)
    # A second number keeps this stream apart from that of a split made with the same seed.
    rng = np.random.default_rng([seed, 7])
    ring = _draw_rings(num_nodes, rare_share, rng)
    activity = np.exp(0.8 * rng.standard_normal(num_nodes))
    edge_index = _draw_edges(ring, activity, average_degree, rng)
    x, columns = draw_features(ring >= 0, activity, num_features, rng)
    risk = account_risk(x, edge_index)
    probability = expit(_intercept(risk, rare_share) + SHARPNESS * risk)
    truth = (rng.random(num_nodes) < probability).astype(np.int64)
    known = rng.random(num_nodes) < labelled_share
    payments = None
    if with_payments:
        drawing = np.random.default_rng([seed, 8])
        payments = draw_payments(edge_index, in_units(x, columns), account_suspicion(x), drawing)
    return RareGraph(
        x=x,
        edge_index=edge_index,
        y=np.where(known, truth, UNKNOWN),
        rare_class=1,
        class_names=("normal", "fraud"),
        node_ids=account_ids(num_nodes),
        feature_names=tuple(column["name"] for column in columns),
        original_y=truth,
        true_probability=probability,
        schema=_schema(columns, with_payments),
        name="transactions",
        edges=payments,
    )


def _schema(columns: list[dict[str, Any]], with_payments: bool) -> dict[str, Any]:
    """How the network would have been read from tables."""
    return {
        "format": 1,
        "id": "id",
        "label": {"column": "is_fraud", "rare": "yes", "values": ["no", "yes"]},
        "edges": edge_schema() if with_payments else {"source": "source", "target": "target", "weight": None},
        "columns": columns,
        "sparse": False,
    }


def account_risk(x: np.ndarray, edge_index: np.ndarray) -> np.ndarray:
    """The risk r_v of `make_transactions`, from the standardised features and both directions of every edge."""
    own = own_risk(x)
    suspicion = np.maximum(own, 0.0)
    degree = np.bincount(edge_index[0], minlength=own.size)
    total = np.bincount(edge_index[0], weights=suspicion[edge_index[1]], minlength=own.size)
    company = total / np.maximum(degree, 1)
    return OWN * own + COMPANY * company + JOINT * suspicion * company


def _intercept(risk: np.ndarray, rare_share: float) -> float:
    def excess(a: float) -> float:
        return float(expit(a + SHARPNESS * risk).mean()) - rare_share

    span = SHARPNESS * float(np.abs(risk).max()) + 40.0
    return float(brentq(excess, -span, span, xtol=1e-10))


def _draw_rings(num_nodes: int, rare_share: float, rng: np.random.Generator) -> np.ndarray:
    """Ring of every account, -1 for none. Rings hold as many accounts as fraudulent ones are expected."""
    members = rng.permutation(num_nodes)[: max(2, round(rare_share * num_nodes))]
    smallest, largest = _RING_SIZES
    sizes = rng.integers(smallest, largest + 1, size=members.size // smallest + 1)
    ring = np.full(num_nodes, -1, dtype=np.int64)
    ring[members] = np.repeat(np.arange(sizes.size), sizes)[: members.size]
    return ring


def _draw_edges(ring: np.ndarray, activity: np.ndarray, average_degree: float, rng: np.random.Generator) -> np.ndarray:
    """Both directions of the payments: ring payments first, then neighbourly and distant ones."""
    num_nodes = ring.size
    wanted = round(average_degree * num_nodes / 2)
    inside = _ring_keys(ring)[:wanted]
    # Draw some more than wanted, as payments between the same two accounts are one edge.
    source, target = _draw_payments(activity, int(1.25 * wanted) + 10, rng)
    low, high = np.minimum(source, target), np.maximum(source, target)
    outside = np.setdiff1d((low * num_nodes + high)[low < high], inside)
    if outside.size > wanted - inside.size:
        outside = rng.choice(outside, size=wanted - inside.size, replace=False, shuffle=False)
    low, high = np.divmod(np.concatenate([inside, outside]), num_nodes)
    return merge_edges(np.vstack([low, high]), None, num_nodes)[0]


def _draw_payments(activity: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Payers in proportion to their activity; 70% pay inside their neighbourhood, the others pay busy accounts."""
    num_nodes = activity.size
    chances = np.cumsum(activity)
    chances /= chances[-1]
    source = np.searchsorted(chances, rng.random(count))
    # Neighbourhoods are blocks of places in a shuffled order, so that the order of the accounts tells nothing.
    account = rng.permutation(num_nodes)
    place = np.empty_like(account)
    place[account] = np.arange(num_nodes)
    near = place[source] // _BLOCK * _BLOCK + rng.integers(0, _BLOCK, size=count)
    target = account[np.minimum(near, num_nodes - 1)]
    far = rng.random(count) < 0.3
    target[far] = np.searchsorted(chances, rng.random(int(far.sum())))
    return source, target


def _ring_keys(ring: np.ndarray) -> np.ndarray:
    """Each member pays the next three of its ring; a pair (low, high) is the number low · N + high."""
    members = np.flatnonzero(ring >= 0)
    members = members[np.argsort(ring[members], kind="stable")]
    keys = []
    for step in (1, 2, 3):
        low, high = members[:-step], members[step:]
        keys.append((low * ring.size + high)[ring[low] == ring[high]])
    return np.concatenate(keys)


def _check(
    num_nodes: int, rare_share: float, num_features: int, average_degree: float, labelled_share: float, seed: int
) -> None:
    check_count(num_nodes, "num_nodes", least=10)
    check_count(num_features, "num_features", least=NUM_RISK_ATTRIBUTES)
    check_count(seed, "seed", least=0)
    if not is_number(rare_share) or not 0.0 < rare_share <= 0.5:
        raise InputError(f"rare_share must lie above 0 and up to 0.5; got {rare_share!r}.")
    if not is_number(labelled_share) or not 0.0 < labelled_share <= 1.0:
        raise InputError(f"labelled_share must lie above 0 and up to 1; got {labelled_share!r}.")
    if not is_number(average_degree) or not 0.0 <= average_degree < num_nodes:
        raise InputError(f"average_degree must lie between 0 and num_nodes={num_nodes}; got {average_degree!r}.")
