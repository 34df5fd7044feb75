"""Five more sets of tables like those of `strange_cases`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from strange_cases import Case, Rng, busy, labels_of


def invoices(folder: Path, rng: Rng, n: int = 800) -> Case:
    """Suppliers in a table, departments only in the invoices; amounts in dollars, credit notes in brackets, rows twice."""
    parts = 60
    y = rng.random(n) < 0.06
    supplier, part = busy(n, 9 * n, rng), rng.integers(0, parts, 9 * n)
    amount = np.exp(rng.normal(7, 1.1, supplier.size))
    false = y[supplier] & (rng.random(supplier.size) < 0.5)
    amount = np.where(false, np.round(rng.uniform(8, 10, supplier.size), 1) * 1_000, amount)
    amount = np.where(rng.random(supplier.size) < 0.04, -amount, amount)
    again = rng.choice(supplier.size, 200)
    rows = np.append(np.arange(supplier.size), again)
    supplier, part, amount = supplier[rows], part[rows], amount[rows]
    known = rng.random(n) < 0.45
    staff = rng.integers(1, 400, n)
    vat = np.array([f"{k:09d}" for k in rng.permutation(10 * n)[:n]])
    pl.DataFrame(
        {
            "vendor_no": vat,
            "employees": [f"{v:,}" if v < 300 else "#N/A" for v in staff],
            "country": rng.choice(["US", "us ", "CA", ""], n, p=[0.6, 0.1, 0.2, 0.1]),
            "confirmed_fraud": labels_of(y, known, True, False),
        }
    ).write_parquet(folder / "vendors.parquet")
    pl.DataFrame(
        {
            "invoice_no": np.arange(rows.size) + 50_000_000,
            "vendor_no": vat[supplier],
            "cost_centre": [f"CC{k:03d}" for k in part],
            "total": [f"${v:,.2f}" if v >= 0 else f"(${-v:,.2f})" for v in amount],
            "currency": ["USD"] * rows.size,
        }
    ).write_parquet(folder / "invoices.parquet")
    tables = [str(folder / "vendors.parquet"), str(folder / "invoices.parquet")]
    tables += ["--source", "vendor_no", "--target", "cost_centre"]
    x = np.concatenate([staff, np.zeros(parts)])[:, None].astype(float)
    edges = [(supplier, n + part, amount[:, None])]
    return Case(tables, ["--label", "confirmed_fraud", "--rare", "true"], vat, y, known, x, edges)


def calls(folder: Path, rng: Rng, n: int = 1_500) -> Case:
    """Calls in a zipped file, numbers as whole numbers, times in milliseconds; spammers call strangers briefly."""
    y = rng.random(n) < 0.04
    source, target = busy(n, 6 * n, rng), busy(n, 6 * n, rng)
    spam = np.repeat(np.flatnonzero(y), rng.integers(4, 15, int(y.sum())))
    source, target = np.append(source, spam), np.append(target, rng.integers(0, n, spam.size))
    back = rng.random(source.size) < np.where(y[source], 0.04, 0.3)
    source, target = np.append(source, target[back]), np.append(target, source[back])
    seconds = np.round(np.exp(rng.normal(np.where(y[source], 3.4, 4.3), 1.0)))
    stamp = 1_700_000_000_000 + rng.integers(0, 60 * 86_400_000, source.size)
    number = 4_915_000_000_000 + rng.permutation(10 * n)[:n]
    known = rng.random(n) < 0.35
    months = rng.integers(1, 90, n)
    nodes = pl.DataFrame(
        {
            "number": number,
            "contract_months": months,
            "prepaid": rng.choice(["yes", "no"], n),
            "reported": labels_of(y, known, 1.0, 0.0),
        }
    )
    edges = pl.DataFrame({"caller": number[source], "callee": number[target], "start_ms": stamp, "seconds": seconds})
    nodes.write_csv(folder / "subscribers.csv.gz", compression="gzip")
    edges.write_csv(folder / "calls.csv.gz", compression="gzip")
    tables = [str(folder / "subscribers.csv.gz"), str(folder / "calls.csv.gz")]
    numbers = np.column_stack([seconds, stamp / 1e3])
    return Case(tables, ["--label", "reported", "--rare", "1"], number, y, known, months[:, None], [(source, target, numbers)])  # fmt: skip


def citations(folder: Path, rng: Rng, n: int = 1_200) -> Case:
    """Papers as bags of words, most cells 0, and who cites whom; paper mills share words and cite one another."""
    words = 320
    y = rng.random(n) < 0.06
    topic = rng.integers(0, 8, n)
    language = np.random.default_rng(0)  # the same in every draw
    usual = language.random((8, words)) ** 6
    mill = language.random(words) < 0.03
    bag = rng.random((n, words)) < 0.5 * usual[topic]
    bag |= (rng.random((n, words)) < 0.25) & mill & y[:, None]
    source = rng.integers(0, n, 5 * n)
    target = rng.integers(0, n, 5 * n)
    own = y[source] & (rng.random(source.size) < 0.4)
    target = np.where(own, rng.choice(np.flatnonzero(y), source.size), target)
    known = rng.random(n) < 0.3
    doi = np.array([f"10.1000/x{k}" for k in rng.permutation(n)])
    columns = {f"w{k}": bag[:, k].astype(int) for k in range(words)}
    pl.DataFrame({"doi": doi, "retracted": labels_of(y, known, "retracted", "fine"), **columns}).write_parquet(
        folder / "papers.parquet"
    )
    pl.DataFrame({"citing": doi[source], "cited": doi[target]}).write_csv(folder / "cites.csv")
    tables = [str(folder / "papers.parquet"), str(folder / "cites.csv")]
    none = np.ones((source.size, 1))
    return Case(tables, ["--label", "retracted", "--rare", "retracted"], doi, y, known, bag.astype(float), [(source, target, none)])  # fmt: skip


def merchants(folder: Path, rng: Rng, n: int = 700) -> Case:
    """Merchants and cards in one table with a column of kinds; a leak that an investigator filled in; merchants are judged."""
    cards = 1_500
    y = rng.random(n) < 0.07
    card, shop = busy(cards, 8 * n, rng, 1.3), busy(n, 8 * n, rng)
    amount = np.exp(rng.normal(3.5, 0.9, card.size))
    night = np.where(y[shop], rng.random(card.size) < 0.45, rng.random(card.size) < 0.15)
    hour = np.where(night, rng.uniform(0, 5, card.size), rng.uniform(7, 23, card.size))
    declined = rng.random(card.size) < np.where(y[shop], 0.15, 0.06)
    known = rng.random(n) < 0.45
    mcc = rng.choice([5411, 5812, 5999, 7995, 6051], n)
    age = rng.integers(1, 240, n)
    name = np.array([f"M{k:05d}" for k in range(n)])
    both = pl.concat(
        [
            pl.DataFrame({"id": name, "kind": "merchant", "mcc": mcc, "months": age, "case_no": [f"C-{k}" if b and s else None for k, (b, s) in enumerate(zip(y, known, strict=True))], "collusive": labels_of(y, known, "Y", "N")}),
            pl.DataFrame({"id": [f"K{k:05d}" for k in range(cards)], "kind": "card", "brand": rng.choice(["visa", "mc"], cards)}),
        ],
        how="diagonal",
    )  # fmt: skip
    both.write_csv(folder / "entities.csv")
    pl.DataFrame(
        {
            "card": [f"K{k:05d}" for k in card],
            "merchant": name[shop],
            "amount": np.round(amount, 2),
            "local_time": [f"{int(h):02d}:{int(60 * (h % 1)):02d}" for h in hour],
            "declined": declined.astype(int),
        }
    ).write_csv(folder / "swipes.csv")
    tables = [str(folder / "entities.csv"), str(folder / "swipes.csv"), "--node-type", "kind"]
    x = np.column_stack([np.append(mcc, np.zeros(cards)), np.append(age, np.zeros(cards))])
    edges = [(n + card, shop, np.column_stack([amount, hour, declined]))]
    return Case(tables, ["--label", "collusive", "--rare", "Y"], name, y, known, x, edges, ["--type", "case_no=ignore"], ("case_no",))  # fmt: skip


def trust(folder: Path, rng: Rng, n: int = 1_500) -> Case:
    """Ratings of -10 to 10 in a file without names, labels in another; nothing else is known of anybody."""
    y = rng.random(n) < 0.06
    source, target = busy(n, 8 * n, rng, 2.0), busy(n, 8 * n, rng, 2.0)
    keep = source != target
    source, target = source[keep], target[keep]
    low = rng.random(source.size) < np.where(~y[source] & y[target], 0.45, 0.08)
    rating = np.where(low, -rng.integers(1, 11, source.size), 1 + np.minimum(rng.poisson(1.2, source.size), 9))
    stamp = 1_300_000_000 + np.sort(rng.integers(0, 10**8, source.size))
    known = rng.random(n) < 0.3
    person = rng.permutation(5 * n)[:n] + 1
    pl.DataFrame([person[source], person[target], rating, stamp], schema=list("abcd")).write_csv(
        folder / "ratings.csv", include_header=False
    )
    labels = pl.DataFrame({"user": person, "cheat": labels_of(y, known, "cheat", "honest")}).drop_nulls()
    labels.write_csv(folder / "known.csv")
    tables = [str(folder / "ratings.csv"), "--labels", str(folder / "known.csv")]
    seen = np.isin(np.arange(n), np.concatenate([source, target])) | known
    place = np.cumsum(seen) - 1
    numbers = np.column_stack([rating, rating < 0, stamp])
    x = np.zeros((int(seen.sum()), 1))
    return Case(tables, ["--label", "cheat", "--rare", "cheat"], person[seen], y[seen], known[seen], x, [(place[source], place[target], numbers)])  # fmt: skip
