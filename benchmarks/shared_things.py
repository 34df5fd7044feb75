"""What columns of shared things and addresses find, on invented accounts, beside columns made by hand.

Accounts have a device, a mail and an address of the host where they signed up. Rings of frauds share a device, some of
their mail is of odd domains and some come from a few networks; families share a device, too. By hand: how many share the
device, the first number of the host and the domain as columns of a random forest.

    python benchmarks/shared_things.py --draws 5
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, log_loss

import calirare as cr

SIZE, RINGS, FAMILIES, PAYMENTS, LABELLED = 4_000, 35, 500, 16_000, 0.3
USUAL = {"gmail.com": 0.5, "yahoo.com": 0.2, "outlook.com": 0.15, "web.de": 0.1, "gmx.de": 0.05}
ODD = ("mailbox.top", "tempmail.io", "yopmail.com")


def make(seed: int) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Accounts, payments, and who is a fraud."""
    rng = np.random.default_rng(seed)
    device, fraud, order, taken = np.arange(SIZE), rng.random(SIZE) < 0.01, rng.permutation(SIZE), 0
    for group in range(RINGS + FAMILIES):
        size = rng.integers(3, 9) if group < RINGS else 2 + (rng.random() < 0.2)
        mine, taken = order[taken : taken + size], taken + size
        device[mine] = device[mine[0]]
        fraud[mine] |= group < RINGS and rng.random(size) < 0.8
    odd = fraud & (rng.random(SIZE) < 0.5)
    domain = np.where(odd, rng.choice(ODD, SIZE), rng.choice(list(USUAL), SIZE, p=list(USUAL.values())))
    first = rng.choice(["anna", "john", "max", "li", "omar", "eva"], SIZE)
    numbers = rng.integers(0, 256, (SIZE, 4))
    numbers[:, 0] = rng.integers(11, 200, SIZE)
    few = fraud & (rng.random(SIZE) < 0.4)
    numbers[few, 0], numbers[few, 1] = 185, rng.integers(60, 64, few.sum())
    labelled = rng.random(SIZE) < LABELLED
    ids = [f"A{k:05d}" for k in range(SIZE)]
    accounts = pl.DataFrame(
        {
            "account_id": ids,
            "age": rng.integers(18, 80, SIZE),
            "balance": np.exp(rng.normal(6, 1, SIZE)).round(2),
            "device_id": [f"dev-{one * 7919 % 100_003:05d}" for one in device],
            "email": [f"{a}.{rng.integers(10**6)}@{b}" for a, b in zip(first, domain, strict=True)],
            "signup_ip": [".".join(map(str, row)) for row in numbers.tolist()],
            "is_fraud": [("yes" if f else "no") if known else None for f, known in zip(fraud, labelled, strict=True)],
        }
    )
    ends = rng.integers(0, SIZE, (2, PAYMENTS))
    payments = {"from": [ids[k] for k in ends[0]], "to": [ids[k] for k in ends[1]]}
    return accounts, pl.DataFrame({**payments, "amount": np.exp(rng.normal(4, 1, PAYMENTS)).round(2)}), fraud


def by_hand(accounts: pl.DataFrame, fraud: np.ndarray) -> np.ndarray:
    columns = accounts.select(
        "age",
        "balance",
        pl.len().over("device_id").alias("of device"),
        pl.col("signup_ip").str.extract(r"^(\d+)").cast(pl.Int64),
        pl.col("email").str.extract(r"@(.*)").alias("domain"),
    ).to_dummies("domain")
    known = accounts["is_fraud"].is_not_null().to_numpy()
    forest = RandomForestClassifier(500, min_samples_leaf=3, random_state=0)
    return forest.fit(columns.to_numpy()[known], fraud[known]).predict_proba(columns.to_numpy())[:, 1]


def by_auto(accounts: pl.DataFrame, payments: pl.DataFrame, **said: object) -> np.ndarray:
    graph = cr.read_tables(accounts, payments, label="is_fraud", rare="yes", **said)
    found = cr.RareCategoryClassifier(device="cpu").fit(graph).predict_proba(graph)
    return found[: accounts.height, 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    draws = parser.parse_args().draws
    rows: dict[str, list[tuple[float, float]]] = {}
    for seed in range(draws):
        accounts, payments, fraud = make(seed)
        test = accounts["is_fraud"].is_null().to_numpy()
        for name, p in (
            ("auto", by_auto(accounts, payments)),
            ("without what is shared", by_auto(accounts, payments, same=[])),
            ("without any of the three columns", by_auto(accounts.drop("device_id", "email", "signup_ip"), payments)),
            ("forest on columns by hand", by_hand(accounts, fraud)),
        ):
            mine = average_precision_score(fraud[test], p[test]), log_loss(fraud[test], p[test].clip(1e-3, 1 - 1e-3))
            rows.setdefault(name, []).append(mine)
            print(f"draw {seed}, {name}: average precision {mine[0]:.3f}, NLL {mine[1]:.4f}", flush=True)
    print(f"\ncalirare {cr.__version__}: means of {draws} draws\n\n| | average precision | NLL |\n|---|--:|--:|")
    for name, found in rows.items():
        print(f"| {name} | {np.mean(found, axis=0)[0]:.3f} | {np.mean(found, axis=0)[1]:.4f} |")


if __name__ == "__main__":
    main()
