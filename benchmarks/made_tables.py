"""Pairs of tables in the shapes that users bring, each made by a mechanism that is known: nobody has tuned to them.

Column names, kinds and gaps are those of the public data that each is like; the numbers are drawn here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl


@dataclass(frozen=True)
class Made:
    """Two tables and how a user would read them."""

    nodes: pl.DataFrame
    edges: pl.DataFrame
    label: str
    rare: Any
    ends: tuple[str, str]
    options: dict[str, Any] = field(default_factory=dict)


def _ends(n: int, count: int, rng: np.random.Generator, power: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Few busy nodes, many quiet ones."""
    place = rng.permutation(n)
    ends = (place[(n * rng.random(count) ** power).astype(int)] for _ in "ab")
    source, target = ends
    keep = source != target
    return source[keep], target[keep]


def _aml(pattern: str, rng: np.random.Generator, n: int = 8_000) -> Made:
    """AMLSim: accounts pay amounts near their balance; members of an alert pay one another in a short time."""
    source, target = _ends(n, 6 * n, rng, 1.5)
    balance = np.round(rng.uniform(100, 600, n), 2)
    # Half of the accounts pay what they always pay, the others as it comes, now and then very little.
    loose = rng.random(n)[source] < 0.5
    value = balance[source] * np.where(loose, np.exp(0.35 * rng.standard_normal(source.size)), 1.0)
    value = np.where(rng.random(source.size) < 0.01, rng.uniform(2, 100, source.size), value)
    time = rng.integers(1, 150, source.size)
    fraud, alerts, alert_of = np.zeros(n, dtype=int), [], []
    for alert in range(n // 150):
        size = int(rng.integers(4, 9))
        who, start = rng.choice(n, size, replace=False), int(rng.integers(5, 140))
        fraud[who] = 1
        pairs = _pattern(pattern, who)
        when = start + (np.arange(len(pairs)) if pattern == "cycle" else rng.integers(0, 8, len(pairs)))
        if pattern == "cycle":  # each keeps a little
            amount = rng.uniform(150, 500) * 0.97 ** np.arange(len(pairs))
        else:
            amount = rng.uniform(2.5, 5.0, len(pairs)) if pattern == "fan_out" else rng.uniform(60, 110, len(pairs))
        alerts.append((pairs, amount, when))
        alert_of += [alert] * len(pairs)
    pairs = np.array([pair for found, _, _ in alerts for pair in found])
    count = source.size
    edges = (
        pl.DataFrame(
            {
                "SENDER_ACCOUNT_ID": np.append(source, pairs[:, 0]),
                "RECEIVER_ACCOUNT_ID": np.append(target, pairs[:, 1]),
                "TX_TYPE": ["TRANSFER"] * (count + len(pairs)),
                "TX_AMOUNT": np.round(np.append(value, np.concatenate([a for _, a, _ in alerts])), 2),
                "TIMESTAMP": np.append(time, np.concatenate([t for _, _, t in alerts])),
                "IS_FRAUD": [False] * count + [True] * len(pairs),
                "ALERT_ID": np.append(np.full(count, -1), alert_of),
            }
        )
        .sort("TIMESTAMP")
        .with_row_index("TX_ID", 1)
    )
    nodes = pl.DataFrame(
        {
            "ACCOUNT_ID": np.arange(n),
            "CUSTOMER_ID": [f"C_{k}" for k in range(n)],
            "INIT_BALANCE": balance,
            "COUNTRY": ["US"] * n,
            "ACCOUNT_TYPE": ["I"] * n,
            "IS_FRAUD": [["false", "true"][k] for k in fraud],
            "TX_BEHAVIOR_ID": rng.integers(1, 6, n),
        }
    )
    ignore = {"types": {"IS_FRAUD": "ignore", "ALERT_ID": "ignore"}}
    return Made(nodes, edges, "IS_FRAUD", "true", ("SENDER_ACCOUNT_ID", "RECEIVER_ACCOUNT_ID"), ignore)


def _pattern(pattern: str, who: np.ndarray) -> list[tuple[int, int]]:
    first, rest = int(who[0]), [int(k) for k in who[1:]]
    if pattern == "cycle":
        return list(zip(who.tolist(), [*rest, first], strict=True))
    if pattern == "fan_out":
        return [(first, other) for other in rest for _ in range(2)]
    middle = rest[:-1]
    return [(first, other) for other in middle] + [(other, rest[-1]) for other in middle]  # scatter, gather


def _elliptic(rng: np.random.Generator, n: int = 8_000) -> Made:
    """Bitcoin transactions: 165 anonymous columns, time steps, edges inside a step, most labels unknown."""
    step = np.sort(rng.integers(1, 50, n))
    hidden = rng.standard_normal((n, 6))
    source, target = [], []
    for one in range(1, 50):
        here = np.flatnonzero(step == one)
        a, b = rng.choice(here, int(1.2 * len(here))), rng.choice(here, int(1.2 * len(here)))
        likely = np.exp(-((hidden[a, 0] - hidden[b, 0]) ** 2)) > rng.random(len(a))
        source.append(a[likely & (a != b)])
        target.append(b[likely & (a != b)])
    ends = np.concatenate(source), np.concatenate(target)
    risk = 1.8 * hidden[:, 0] + 1.2 * np.maximum(hidden[:, 1], 0) * (hidden[:, 2] > 0) - 4.2
    illicit = rng.random(n) < 1 / (1 + np.exp(-risk))
    local = hidden @ rng.standard_normal((6, 93)) * 0.5 + rng.standard_normal((n, 93)) * 1.5
    local[:, ::3] = np.exp(local[:, ::3])
    around = np.zeros((n, 72))
    np.add.at(around, ends[0], local[ends[1], :72])
    columns = {f"feature_{k + 2}": np.round(v, 6) for k, v in enumerate(np.hstack([local, around]).T)}
    known = rng.random(n) < 0.25
    label = np.where(known, np.where(illicit, "1", "2"), "unknown")
    nodes = pl.DataFrame({"txId": 230_000_000 + rng.permutation(n) * 7, "class": label, "time_step": step, **columns})
    nodes = nodes.with_columns(
        pl.when(pl.col("class") == "unknown").then(None).otherwise(pl.col("class")).alias("class")
    )
    ids = nodes["txId"].to_numpy()
    edges = pl.DataFrame({"txId1": ids[ends[0]], "txId2": ids[ends[1]]})
    return Made(nodes, edges, "class", "1", ("txId1", "txId2"))


def _signed(rng: np.random.Generator, n: int, per_node: int, values: str) -> Made:
    """Bitcoin-Alpha, Epinions, Slashdot: who trusts whom; cheats are rated badly by the honest, well by each other."""
    source, target = _ends(n, per_node * n, rng, 2.2)
    bad = rng.random(n) < 0.06
    good_to_bad, same = ~bad[source] & bad[target], bad[source] == bad[target]
    low = np.where(good_to_bad, 0.55, np.where(same, 0.06, 0.25))
    negative = rng.random(source.size) < low
    rating = np.where(negative, -rng.integers(1, 11, source.size), 1 + rng.poisson(1.2, source.size))
    time = 1_290_000_000 + np.sort(rng.integers(0, 160_000_000, source.size))
    known = rng.random(n) < 0.4
    nodes = pl.DataFrame({"user": np.arange(n) + 1, "trust": np.where(bad, "bad", "good")})
    nodes = nodes.with_columns(pl.when(pl.Series(known)).then(pl.col("trust")).otherwise(None).alias("trust"))
    if values == "rating":
        more = {"rating": np.clip(rating, -10, 10), "time": time}
    else:
        more = {"sign": np.sign(rating)}
    edges = pl.DataFrame({"source": source + 1, "target": target + 1, **more})
    return Made(nodes, edges, "trust", "bad", ("source", "target"))


def _cards(rng: np.random.Generator, n: int = 8_000) -> Made:
    """IEEE-CIS: transactions with many gaps, joined to the devices and e-mail domains that they came from."""
    devices = 1_500
    bad_device = rng.random(devices) < 0.05
    device = (devices * rng.random(n) ** 1.7).astype(int)
    amount = np.exp(rng.normal(4, 1, n))
    risk = -4.6 + 3.2 * bad_device[device] + 0.8 * (amount > 150) + 0.8 * rng.standard_normal(n)
    fraud = rng.random(n) < 1 / (1 + np.exp(-risk))
    columns: dict[str, Any] = {"TransactionAmt": np.round(amount, 2), "TransactionDT": 86_400 + np.arange(n) * 40}
    columns["ProductCD"] = rng.choice(list("WCRHS"), n, p=[0.7, 0.12, 0.08, 0.06, 0.04])
    columns["card4"] = rng.choice(["visa", "mastercard", "discover", None], n, p=[0.6, 0.3, 0.05, 0.05])
    columns["P_emaildomain"] = rng.choice(["gmail.com", "yahoo.com", "hotmail.com", None], n, p=[0.5, 0.2, 0.2, 0.1])
    for k in range(1, 15):
        columns[f"C{k}"] = rng.poisson(1 + 2 * fraud * (k < 4))
    for k in range(1, 40):
        noise = rng.standard_normal(n) + 0.5 * risk * (k % 13 == 0)
        columns[f"V{k}"] = np.where(rng.random(n) < 0.3, None, np.round(noise, 3))  # type: ignore[arg-type]
    nodes = pl.DataFrame(
        {"TransactionID": 2_987_000 + np.arange(n), "isFraud": fraud.astype(int), **columns}, strict=False
    )
    edges = pl.DataFrame({"TransactionID": nodes["TransactionID"], "DeviceInfo": [f"device {k}" for k in device]})
    return Made(nodes, edges, "isFraud", 1, ("TransactionID", "DeviceInfo"))


def _phones(rng: np.random.Generator, n: int = 6_000) -> Made:
    """Calls and messages: spammers ring many strangers briefly, by day, and are seldom rung back."""
    spam = rng.random(n) < 0.03
    source, target = _ends(n, 6 * n, rng, 1.8)
    keep = rng.random(source.size) < np.where(spam[target], 0.3, 1.0)
    source, target = source[keep], target[keep]
    extra = np.repeat(np.flatnonzero(spam), rng.integers(4, 14, spam.sum()))
    source, target = np.append(source, extra), np.append(target, rng.integers(0, n, extra.size))
    back = rng.random(source.size) < np.where(spam[source], 0.05, 0.35)
    source, target = np.append(source, target[back]), np.append(target, source[back])
    seconds = np.round(np.exp(rng.normal(np.where(spam[source], 3.6, 4.4), 1.0)))
    message = rng.random(source.size) < 0.3
    start = 1_700_000_000 + rng.integers(0, 60 * 86_400, source.size)
    number = np.array([f"+49 15{k:08d}" for k in rng.permutation(n) + 1_000])
    edges = pl.DataFrame(
        {
            "caller": number[source],
            "callee": number[target],
            "start": pl.from_epoch(pl.Series(start), "s"),
            "duration_s": np.where(message, None, seconds),  # type: ignore[arg-type]
            "kind": np.where(message, "sms", "call"),
        },
        strict=False,
    )
    plan = rng.choice(["prepaid", "contract", "business"], n, p=[0.5, 0.4, 0.1])
    nodes = pl.DataFrame({"msisdn": number, "plan": plan, "spam": np.where(spam, "yes", "no")})
    return Made(nodes, edges, "spam", "yes", ("caller", "callee"))


def _small(rng: np.random.Generator) -> Made:
    """Three hundred suppliers and their invoices, twenty of them false."""
    n = 300
    false = rng.random(n) < 0.09
    source, target = rng.integers(0, n, 2_000), rng.integers(0, n, 2_000)
    amount = np.where(
        false[source], np.round(rng.uniform(5, 10, 2_000)) * 1_000, np.round(np.exp(rng.normal(7, 1.2, 2_000)), 2)
    )
    amount = np.where(rng.random(2_000) < 0.5, np.round(np.exp(rng.normal(7, 1.2, 2_000)), 2), amount)
    nodes = pl.DataFrame({"supplier": np.arange(n) + 1, "employees": rng.integers(1, 200, n), "fraud": false})
    edges = pl.DataFrame({"supplier_from": source + 1, "supplier_to": target + 1, "amount": amount})
    return Made(nodes, edges, "fraud", True, ("supplier_from", "supplier_to"))


SHAPES: dict[str, Callable[[np.random.Generator], Made]] = {
    "AMLSim fan-out": lambda rng: _aml("fan_out", rng),
    "AMLSim cycle": lambda rng: _aml("cycle", rng),
    "AMLSim scatter-gather": lambda rng: _aml("scatter_gather", rng),
    "Elliptic": _elliptic,
    "Bitcoin-Alpha": lambda rng: _signed(rng, 3_800, 6, "rating"),
    "Epinions": lambda rng: _signed(rng, 8_000, 8, "sign"),
    "IEEE-CIS": _cards,
    "phone calls": _phones,
    "invoices": _small,
}
