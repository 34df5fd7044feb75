"""Five sets of tables as strangers bring them: exports with currency signs, gaps called NA, odd dates, several kinds.

Each is drawn by a mechanism that is known, kept clean in `Case` for a rival that reads no files, and written with the dirt
that real exports have. Nobody has tuned to them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

Rng = np.random.Generator


@dataclass
class Case:
    """Tables on disk and the truth behind them.

    Args:
        tables: Arguments and options of a command line that name the tables.
        label: `--label` and `--rare`.
        ids: Of the nodes that are scored, as the scores will name them.
        y: Their truth.
        known: Whose label is in the tables.
        x: `(N, k)` clean attributes of all nodes, the scored ones first.
        edges: Per table `(source, target, (E, k) numbers)`.
        fit: Further words for `audit` and `fit`.
        leaks: Columns that the audit must name.
    """

    tables: list[str]
    label: list[str]
    ids: np.ndarray
    y: np.ndarray
    known: np.ndarray
    x: np.ndarray
    edges: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    fit: list[str] = field(default_factory=list)
    leaks: tuple[str, ...] = ()


def busy(n: int, count: int, rng: Rng, power: float = 1.7) -> np.ndarray:
    """Ends of edges: few busy nodes, many quiet ones."""
    return rng.permutation(n)[(n * rng.random(count) ** power).astype(int)]


def labels_of(y: np.ndarray, known: np.ndarray, rare: Any, other: Any) -> list[Any]:
    """A column of labels, empty where they are not known."""
    return [None if not k else rare if one else other for one, k in zip(y, known, strict=True)]


def _german(value: float, sign: str = "€ ") -> str:
    return sign + f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def payments(folder: Path, rng: Rng, n: int = 1_500) -> Case:
    """A German bank's export: semicolons, decimal commas, a byte-order mark. Mules pass on what they get within hours."""
    y = rng.random(n) < 0.05
    source, target = busy(n, 6 * n, rng), busy(n, 6 * n, rng)
    amount = np.exp(rng.normal(4.0, 1.0, source.size))
    hours = rng.uniform(0, 24 * 90, source.size)
    mule = rng.choice(np.flatnonzero(y), 5 * int(y.sum()))
    paid, start = np.exp(rng.normal(6.2, 0.5, mule.size)), rng.uniform(0, 24 * 90, mule.size)
    source = np.concatenate([source, busy(n, mule.size, rng), mule])
    target = np.concatenate([target, mule, rng.integers(0, n, mule.size)])
    amount = np.concatenate([amount, paid, paid * rng.uniform(0.9, 1.0, mule.size)])
    hours = np.concatenate([hours, start, start + rng.uniform(0.5, 4, mule.size)])
    order = np.argsort(hours)
    source, target, amount, hours = source[order], target[order], amount[order], hours[order]
    known = rng.random(n) < 0.4
    iban = np.array([f"DE{k:020d}" for k in rng.permutation(n) * 7919 + 10**15])
    opened = rng.integers(0, 4_000, n)
    income = np.exp(rng.normal(7.7 - 0.3 * y, 0.5))
    day = [f"{date(2013, 1, 1) + timedelta(int(k)):%d.%m.%Y}" for k in opened]
    nodes = pl.DataFrame(
        {
            "IBAN": iban,
            "Kunde seit": day,
            "Einkommen": [_german(v) for v in income],
            "Bundesland": rng.choice(["BY", "NW", "BE", "k. A."], n),
            "Lfd. Nr.": np.arange(1, n + 1),
            "gesperrt am": [f"{3 + k % 20:02d}.06.2024" if bad and seen else None for k, (bad, seen) in enumerate(zip(y, known, strict=True))],
            "Betrug": labels_of(y, known, "ja", "nein"),
        }
    )  # fmt: skip
    when = [
        f"{t:%d.%m.%Y %H:%M}" for t in pl.from_epoch(pl.Series((1_704_067_200 + hours * 3600).astype(np.int64)), "s")
    ]
    edges = pl.DataFrame(
        {
            "Auftraggeber": iban[source],
            "Beguenstigter": iban[target],
            "Betrag": [_german(v) for v in amount],
            "Buchung": when,
        }
    )
    for name, frame in (("konten.csv", nodes), ("umsaetze.csv", edges)):
        (folder / name).write_bytes(b"\xef\xbb\xbf" + frame.write_csv(separator=";").encode())
    ends = ["--source", "Auftraggeber", "--target", "Beguenstigter"]
    x = np.column_stack([opened, income])
    return Case(
        [str(folder / "konten.csv"), str(folder / "umsaetze.csv"), *ends],
        ["--label", "Betrug", "--rare", "ja"],
        iban, y, known, x, [(source, target, np.column_stack([amount, hours]))], ["--type", "gesperrt am=ignore"],
        ("gesperrt am",),
    )  # fmt: skip


def hosts(folder: Path, rng: Rng, n: int = 1_200) -> Case:
    """Machines and logins out of R: NA for gaps, percent signs, times with zones, half of the sources unknown to the inventory."""
    y = rng.random(n) < 0.04
    count = 9 * n
    source, target = busy(n, count, rng), busy(n, count, rng)
    extra = np.repeat(np.flatnonzero(y), rng.integers(5, 25, int(y.sum())))
    source, target = np.append(source, extra), np.append(target, rng.integers(0, n, extra.size))
    bad = np.append(rng.random(count) < 0.05, rng.random(extra.size) < 0.6)
    hour = np.append(rng.normal(13, 3, count), rng.normal(2, 2, extra.size)) % 24
    seconds = 1_709_251_200 + 86_400 * rng.integers(0, 60, source.size) + (3600 * hour).astype(int)
    outside = rng.random(source.size) < 0.15
    name = np.array([f"WS-{k:05d}" for k in rng.permutation(n)])
    known = rng.random(n) < 0.35
    load, patched = np.clip(rng.beta(2, 5, n) + 0.1 * y, 0, 1), rng.gamma(2.0, 30.0, n)
    nodes = pl.DataFrame(
        {
            "hostname": name,
            "os": rng.choice(["Windows 10", "Windows 11", "Ubuntu 22.04", "NA"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "cpu": [f"{100 * v:.1f}%" for v in load],
            "days_since_patch": ["NA" if rng.random() < 0.1 else f"{v:.0f}" for v in patched],
            "domain": ["corp.example"] * n,
            "compromised": [{None: "NA", True: "TRUE", False: "FALSE"}[v] for v in labels_of(y, known, True, False)],
        }
    )
    zone = rng.choice(["+00:00", "+01:00", "-05:00"], source.size)
    shift = {"+00:00": 0, "+01:00": 3600, "-05:00": -18_000}
    local = pl.from_epoch(pl.Series([int(s) + shift[z] for s, z in zip(seconds, zone, strict=True)]), "s")
    edges = pl.DataFrame(
        {
            "time": [f"{t:%Y-%m-%dT%H:%M:%S}{z}" for t, z in zip(local, zone, strict=True)],
            "src_host": [f"185.{k % 200}.7.{k % 250}" if o else h for k, (o, h) in enumerate(zip(outside, name[source], strict=True))],
            "dst_host": name[target],
            "success": np.where(bad, "FALSE", "TRUE"),
            "logon_type": rng.choice([2, 3, 10], source.size),
        }
    )  # fmt: skip
    nodes.write_csv(folder / "hosts.csv", null_value="NA")
    edges.write_csv(folder / "logins.csv.gz", compression="gzip")
    kept = ~outside
    numbers = np.column_stack([bad, hour])[kept]
    return Case(
        [str(folder / "hosts.csv"), str(folder / "logins.csv.gz"), "--drop-unknown-edges"],
        ["--label", "compromised", "--rare", "TRUE"],
        name, y, known, np.column_stack([load, patched]), [(source[kept], target[kept], numbers)],
    )  # fmt: skip


def patients(folder: Path, rng: Rng, n: int = 1_000) -> Case:
    """Contacts in a hospital, without direction, patient numbers with leading zeros, self loops; infection spreads."""
    ward = rng.integers(0, 25, n)
    source = rng.integers(0, n, 7 * n)
    near = rng.random(source.size) < 0.7
    by_ward = {w: np.flatnonzero(ward == w) for w in range(25)}
    target = np.array(
        [rng.choice(by_ward[ward[s]]) if c else rng.integers(0, n) for s, c in zip(source, near, strict=True)]
    )
    minutes = rng.gamma(1.2, 20.0, source.size)
    age = rng.integers(18, 97, n)
    risk = np.where(np.isin(ward, rng.choice(25, 3, replace=False)), 0.25, 0.01) + 0.002 * np.maximum(age - 70, 0)
    y = rng.random(n) < risk
    for _ in range(2):
        met = np.zeros(n)
        np.add.at(met, target, y[source] * minutes)
        np.add.at(met, source, y[target] * minutes)
        y |= rng.random(n) < 1 - np.exp(-met / 900)
    known = rng.random(n) < 0.4
    number = np.array([f"{k:08d}" for k in rng.permutation(n) + 1])
    fever = rng.random(n) < np.where(y, 0.4, 0.1)
    nodes = pl.DataFrame(
        {
            "patient_no": number,
            "born": [f"{1 + k % 12}/{1 + k % 28}/{2024 - a}" for k, a in enumerate(age)],
            "ward": [f"Ward {w:02d}" for w in ward],
            "fever": np.where(fever, "Y", "N"),
            "comment": [f"seen by Dr. no. {k}, no further remarks" for k in range(n)],
            "infected": labels_of(y, known, 1.0, 0.0),
        }
    )
    edges = pl.DataFrame({"patient_a": number[source], "patient_b": number[target], "minutes": np.round(minutes, 1)})
    nodes.write_csv(folder / "patients.tsv", separator="\t")
    edges.write_csv(folder / "contacts.tsv", separator="\t")
    return Case(
        [str(folder / "patients.tsv"), str(folder / "contacts.tsv"), "--undirected"],
        ["--label", "infected", "--rare", "1"],
        number, y, known, np.column_stack([age, ward, fever]), [(source, target, minutes[:, None])],
    )  # fmt: skip


def devices(folder: Path, rng: Rng, n: int = 1_500) -> Case:
    """Users and devices in tables of their own, logins and transfers in others; rings share a device. 24 rare labels."""
    count, rings = 900, 30
    y = np.zeros(n, dtype=bool)
    user, device = busy(n, 2 * n, rng, 1.2), rng.integers(0, count, 2 * n)
    for ring in range(rings):
        who = rng.choice(n, 5, replace=False)
        y[who] = True
        user, device = np.append(user, who), np.append(device, np.full(5, ring))
    payer, payee = busy(n, 3 * n, rng), busy(n, 3 * n, rng)
    amount = np.exp(rng.normal(3, 1, payer.size))
    age, version = rng.integers(1, 2_000, n), rng.choice(["9.1", "9.2", "10.0"], count)
    known = np.zeros(n, dtype=bool)
    known[rng.choice(np.flatnonzero(y), 24, replace=False)] = True
    known[rng.choice(np.flatnonzero(~y), 500, replace=False)] = True
    users = pl.DataFrame(
        {"user_id": np.arange(n), "account_age_days": age, "status": labels_of(y, known, "banned", "ok")}
    )
    pl.DataFrame({"device_id": np.arange(count), "app_version": version}).write_parquet(folder / "devices.parquet")
    users.write_parquet(folder / "users.parquet")
    pl.DataFrame({"user_id": user, "device_id": device, "logins": rng.integers(1, 40, user.size)}).write_parquet(folder / "logins.parquet")  # fmt: skip
    pl.DataFrame({"from_user_id": payer, "to_user_id": payee, "amount": [f"${v:,.2f}" for v in amount]}).write_parquet(folder / "transfers.parquet")  # fmt: skip
    tables = ["--nodes", f"users={folder}/users.parquet", "--nodes", f"devices={folder}/devices.parquet"]
    tables += ["--edges", f"logins={folder}/logins.parquet", "--edges", f"transfers={folder}/transfers.parquet"]
    x = np.append(age, np.zeros(count))[:, None].astype(float)
    edges = [(user, n + device, np.ones((user.size, 1))), (payer, payee, amount[:, None])]
    return Case(tables, ["--label", "status", "--rare", "banned"], np.arange(n), y, known, x, edges)


def reviews(folder: Path, rng: Rng, n: int = 900) -> Case:
    """Reviews as JSON lines and a list of banned authors; no table of nodes. Paid authors praise a few things in bursts."""
    items = 400
    y = rng.random(n) < 0.06
    who, what = busy(n, 6 * n, rng, 1.3), busy(items, 6 * n, rng)
    stars = np.clip(np.round(rng.normal(3.8, 1.1, who.size)), 1, 5)
    day = rng.uniform(0, 300, who.size)
    paid = np.repeat(np.flatnonzero(y), 5)
    who, what = np.append(who, paid), np.append(what, rng.integers(0, 40, paid.size))
    stars = np.append(stars, np.where(rng.random(paid.size) < 0.85, 5, 1))
    day = np.append(day, 120 + rng.normal(0, 4, paid.size))
    known = rng.random(n) < 0.4
    name, asin = np.array([f"A{k:07d}" for k in rng.permutation(n)]), np.array([f"B{k:06d}" for k in range(items)])
    stamp = pl.from_epoch(pl.Series((1_672_531_200 + 86_400 * day).astype(np.int64)), "s")
    edges = pl.DataFrame(
        {
            "reviewer": name[who],
            "product": asin[what],
            "stars": stars,
            "helpful": [f"{a}/{a + b}" for a, b in rng.integers(0, 9, (who.size, 2))],
            "verified": rng.random(who.size) < 0.7,
            "when": [f"{t:%b %d, %Y}" for t in stamp],
        }
    )
    edges.write_ndjson(folder / "reviews.jsonl")
    labels = pl.DataFrame({"reviewer": name, "banned": labels_of(y, known, "yes", "no")}).drop_nulls()
    labels.write_csv(folder / "banned.csv")
    tables = [str(folder / "reviews.jsonl"), "--labels", str(folder / "banned.csv")]
    numbers = np.column_stack([stars, day])
    seen = np.unique(who)
    keep = np.isin(np.arange(n), seen)
    place = np.cumsum(keep) - 1
    x = np.zeros((int(keep.sum()) + items, 1))
    edge = [(place[who], int(keep.sum()) + what, numbers)]
    return Case(tables, ["--label", "banned", "--rare", "yes"], name[keep], y[keep], known[keep], x, edge)
