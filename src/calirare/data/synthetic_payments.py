"""The payments of a generated network: who paid whom, how much, and when.

They show, with noise, what the account table says of the payer, and how suspicious it is: what a network or a forest
would have to work out from all columns of all neighbours. Nothing of them is drawn from a label, so they leave
P(rare | features, edges) as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit

from calirare.data.edge_table import EdgeColumn, EdgeTable

COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "amount", "kind": "number"},
    {"name": "time", "kind": "time", "unit": 1.0},
    {"name": "channel", "kind": "category", "categories": ["app", "card", "cash", "transfer"], "rare": 0},
)
"""As in a schema; see `calirare.data.tables.schema.edge_columns`."""

_START = 1_704_067_200  # 2024-01-01, UTC
_DAYS = 90
_NIGHT_HOURS, _HOURS = 6, 24


def draw_payments(
    edge_index: np.ndarray, traits: Mapping[str, np.ndarray], suspicion: np.ndarray, rng: np.random.Generator
) -> EdgeTable:
    """One or more payments for every edge, in the order of time.

    For the edge {u, v}: 1 + Poisson(½ · mean activity) payments, of which u makes each with the probability
    o_u / (o_u + o_v), where o = 1 - `incoming_share`. The payer's `amount_mean_log10` and `amount_spread_log10` give the
    amount (log-normal), its `round_amount_share` how often it is rounded to tens, its `night_share` how often it is paid
    between midnight and six, and its suspicion s how often it is paid in cash: 1 / (1 + exp(3 - 2 s)).

    Args:
        edge_index: Both directions of every edge.
        traits: Columns of the account table, in its units.
        suspicion: `(N,)` of every account, 0 for most.
        rng: Apart from the generator that made the network, so that the network stays as it was.
    """
    one, other = edge_index[:, edge_index[0] < edge_index[1]]
    activity = traits["transactions_per_day"] / traits["transactions_per_day"].mean()
    repeats = 1 + rng.poisson(0.25 * (activity[one] + activity[other]))
    one, other = np.repeat(one, repeats), np.repeat(other, repeats)
    outgoing = 1.0 - traits["incoming_share"] if "incoming_share" in traits else np.ones(len(activity))
    forth = rng.random(one.size) * (outgoing[one] + outgoing[other]) < outgoing[one]
    source, target = np.where(forth, one, other), np.where(forth, other, one)
    amount = _amounts(traits, source, rng)
    when = _moments(traits["night_share"][source], rng)
    order = np.argsort(when, kind="stable")
    columns = (
        EdgeColumn("amount", "number", amount[order]),
        EdgeColumn("time", "time", when[order].astype(np.float64)),
        EdgeColumn("channel", "category", _channels(suspicion[source], rng)[order], tuple(COLUMNS[2]["categories"])),
    )
    return EdgeTable(source[order], target[order], columns)


def _amounts(traits: Mapping[str, np.ndarray], payer: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    log10 = traits["amount_mean_log10"][payer] + traits["amount_spread_log10"][payer] * rng.standard_normal(payer.size)
    amount = np.round(10.0 ** np.clip(log10, -2.0, 8.0), 2)
    rounded = rng.random(payer.size) < traits["round_amount_share"][payer]
    return np.where(rounded, np.maximum(np.round(amount, -1), 10.0), np.maximum(amount, 0.01))


def _channels(suspicion: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Codes of app, card, cash and transfer; what is not paid in cash is paid by any of the others."""
    others = np.array([0, 1, 3], dtype=np.int32)[rng.integers(0, 3, suspicion.size)]
    return np.where(rng.random(suspicion.size) < expit(2.0 * suspicion - 3.0), np.int32(2), others)


def _moments(night_share: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whole seconds since 1970, over a quarter of a year."""
    count = night_share.size
    night = rng.random(count) < night_share
    hour = np.where(night, rng.integers(0, _NIGHT_HOURS, count), rng.integers(_NIGHT_HOURS, _HOURS, count))
    return _START + rng.integers(0, _DAYS, count) * 86_400 + hour * 3_600 + rng.integers(0, 3_600, count)


def edge_schema() -> dict[str, Any]:
    """What a schema says of these edges, as `read_tables` would."""
    return {
        "source": "source",
        "target": "target",
        "weight": None,
        "directed": True,
        "type": None,
        "types": [],
        "time": None,
        "tables": [{"name": "edges", "source": "source", "target": "target"}],
        "columns": [dict(column) for column in COLUMNS],
    }
