"""The accounts of a generated network: their columns, what these say of their own risk, and their ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit


@dataclass(frozen=True)
class AccountColumn:
    """A column of the account table: how a hidden standard-normal trait shows in it, and how far it betrays fraud.

    Args:
        name: Column name.
        weight: Its part in the risk of an account, per standard deviation.
        show: Turns the hidden trait into the units of the table.
        lean: Which way fraud rings lean in the trait: +1 up, -1 down, 0 not at all.
    """

    name: str
    weight: float
    show: Callable[[np.ndarray], np.ndarray]
    lean: float


ATTRIBUTES = (
    AccountColumn("amount_mean_log10", 0.3, lambda z: 1.8 + 0.35 * z, 1.0),
    AccountColumn("amount_spread_log10", 0.5, lambda z: 0.4 * np.exp(0.3 * z), 1.0),
    AccountColumn("account_age_days", -0.6, lambda z: np.floor(4000 * expit(z - 0.5)), -1.0),
    AccountColumn("transactions_per_day", 0.4, lambda z: 2.0 * np.exp(0.5 * z), 1.0),
    AccountColumn("night_share", 0.6, lambda z: expit(0.9 * z - 2.0), 1.0),
    AccountColumn("round_amount_share", 0.5, lambda z: expit(0.8 * z - 1.5), 1.0),
    AccountColumn("new_counterparty_share", 0.6, lambda z: expit(0.8 * z - 1.0), 1.0),
    AccountColumn("country_risk", 0.5, lambda z: expit(z - 1.5), 1.0),
    AccountColumn("failed_logins_per_month", 0.0, lambda z: 0.5 * np.exp(0.6 * z), 0.6),
    AccountColumn("device_changes_per_year", 0.0, lambda z: 1.5 * np.exp(0.5 * z), 0.6),
    AccountColumn("balance_log10", 0.0, lambda z: 3.2 + 0.6 * z, -0.4),
    AccountColumn("incoming_share", 0.0, lambda z: expit(0.7 * z), 0.0),
)
"""The named columns. Those with weight 0 lean with the rings but carry no risk of their own."""

NUM_RISK_ATTRIBUTES = sum(attribute.weight != 0 for attribute in ATTRIBUTES)


def draw_features(
    in_ring: np.ndarray, activity: np.ndarray, num_features: int, rng: np.random.Generator
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Standardised features, and per column what gives its units back."""
    num_nodes = in_ring.size
    x = np.empty((num_nodes, num_features), dtype=np.float32)
    lean = np.where(in_ring, 1.6 + 0.5 * rng.standard_normal(num_nodes), 0.0)
    columns = []
    for k in range(num_features):
        trait = rng.standard_normal(num_nodes)
        if k < len(ATTRIBUTES):
            name = ATTRIBUTES[k].name
            shows = rng.random(num_nodes) < 0.65
            raw = ATTRIBUTES[k].show(trait + ATTRIBUTES[k].lean * lean * shows)
        else:
            name = f"volume_week_{k - len(ATTRIBUTES) + 1:02d}_log10"
            raw = 2.0 + 0.35 * (np.log(activity) + trait)
        mean, scale = float(raw.mean()), float(raw.std()) or 1.0
        x[:, k] = (raw - mean) / scale
        columns.append(
            {
                "name": name,
                "type": "numeric",
                "median": float(np.median(raw)),
                "mean": mean,
                "scale": scale,
                "indicator": False,
            }
        )
    return x, columns


def in_units(x: np.ndarray, columns: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Every named column in the units of the table."""
    return {
        column["name"]: x[:, k].astype(np.float64) * column["scale"] + column["mean"]
        for k, column in enumerate(columns)
    }


def account_suspicion(x: np.ndarray) -> np.ndarray:
    """max(s_v, 0) of `make_transactions`."""
    return np.maximum(own_risk(x), 0.0)


def own_risk(x: np.ndarray) -> np.ndarray:
    """s_v of `make_transactions`."""
    own = np.zeros(x.shape[0])
    for column, attribute in enumerate(ATTRIBUTES[:NUM_RISK_ATTRIBUTES]):
        own += attribute.weight * x[:, column].astype(np.float64)
    return own


def account_ids(num_nodes: int) -> np.ndarray:
    """`A0000001`, `A0000002`, …, written digit by digit: millions in a moment."""
    width = max(7, len(str(num_nodes)))
    numbers = np.arange(1, num_nodes + 1)
    letters = np.empty((num_nodes, width + 1), dtype=np.uint32)
    letters[:, 0] = ord("A")
    for digit in range(width):
        letters[:, width - digit] = numbers // 10**digit % 10 + ord("0")
    return letters.view(f"U{width + 1}").ravel()
