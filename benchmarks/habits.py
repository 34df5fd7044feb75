"""What nodes are found by habits that sums and means hide, each made by a mechanism that is known; beside a plain forest.

Fifteen hundred accounts, a twentieth rare, a fifth labelled. The forest of scikit-learn, with sigmoid calibration, reads what is usually made of such tables:
by direction the count, and of the amount sum, mean, spread, least and greatest, shares of the channels and of the quarters of the day, the
account's own columns, and their means over its partners. The truth is the mechanism as a column of its own, for the same forest.

    python benchmarks/habits.py --seeds 3
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, log_loss

import calirare as cr

NODES, RARE, LABELLED, DEGREE, DAY = 1_500, 0.05, 0.2, 12, 86_400
Tables = tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class World:
    """Accounts and payments before any habit: `rare` of the accounts, `odd` payments of theirs that show it."""

    rng: np.random.Generator
    rare: np.ndarray
    payer: np.ndarray
    payee: np.ndarray
    amount: np.ndarray
    second: np.ndarray
    odd: np.ndarray

    @classmethod
    def draw(cls, seed: int, often: float = 0.35, seldom: float = 0.06) -> World:
        rng = np.random.default_rng(seed)
        rare = rng.random(NODES) < RARE
        payer = rng.integers(0, NODES, DEGREE * NODES)
        second = DAY * rng.integers(0, 60, payer.size) + 3600 * rng.uniform(6, 23, payer.size)
        odd = rng.random(payer.size) < np.where(rare[payer], often, seldom)
        payee, amount = rng.integers(0, NODES, payer.size), rng.lognormal(5, 1.2, payer.size).round(2)
        return cls(rng, rare, payer, payee, amount, second, odd)

    def tables(self, **other: np.ndarray) -> Tables:
        """With some columns replaced or added; and the share of odd payments of each account."""
        edges = {"payer": self.payer, "payee": self.payee, "amount": self.amount, "second": self.second}
        edges |= {"channel": self.rng.choice(["app", "card", "cash"], self.payer.size)}
        of_nodes = {name: column for name, column in other.items() if len(column) == NODES}
        edges |= {name: column for name, column in other.items() if len(column) == self.payer.size}
        nodes = {"age": self.rng.normal(40, 12, NODES).round(), "balance": self.rng.lognormal(7, 1, NODES).round(2)}
        count = np.maximum(np.bincount(self.payer, minlength=NODES), 1)
        return nodes | of_nodes, edges, np.bincount(self.payer, weights=self.odd, minlength=NODES) / count


def round_sums(world: World) -> Tables:
    return world.tables(amount=np.where(world.odd, np.ceil(world.amount / 100) * 100, world.amount))


def below_a_limit(world: World) -> Tables:
    return world.tables(amount=np.where(world.odd, world.rng.uniform(900, 999, world.odd.size).round(2), world.amount))


def at_night(world: World) -> Tables:
    hour = world.rng.uniform(22, 26, world.odd.size)
    return world.tables(second=np.where(world.odd, world.second // DAY * DAY + 3600 * hour, world.second))


def on_tuesdays(world: World) -> Tables:
    week = world.second // (7 * DAY) * (7 * DAY) + world.second % DAY
    return world.tables(second=np.where(world.odd, week + 5 * DAY, world.second))  # 1970 began on a Thursday


def one_sum_again(world: World) -> Tables:
    own = world.rng.lognormal(5, 1, NODES).round(2)
    return world.tables(amount=np.where(world.odd, own[world.payer], world.amount))


def abroad(world: World) -> Tables:
    country = world.rng.integers(0, 4, NODES)
    at_home = np.array([world.rng.choice(np.flatnonzero(country == k), world.payer.size) for k in range(4)])
    payee = np.where(world.odd, world.payee, at_home[country[world.payer], np.arange(world.payer.size)])
    return world.tables(payee=payee, country=np.array(["NO", "SE", "DK", "FI"])[country])


def a_few_merchants(world: World) -> Tables:
    codes = np.arange(120)
    bad = world.rng.permutation(codes)[:8]
    code = np.where(world.odd, world.rng.choice(bad, world.odd.size), world.rng.choice(codes, world.odd.size))
    return world.tables(merchant=np.array([f"M{one}" for one in codes])[code])


def made_up_names(world: World) -> Tables:
    rng, first = world.rng, np.array(["anna", "ben", "carl", "dina", "eva", "finn", "greta", "hans"])
    machine = rng.random(NODES) < np.where(world.rare, 0.7, 0.03)
    number, second = rng.integers(10_000, 999_999, NODES), rng.choice(["berg", "dahl", "lie", "moe", "vik"], NODES)
    names = [
        f"{one}{digits}" if made else f"{one}{sign}{other}{digits % 90 if digits % 3 else ''}"
        for one, other, sign, digits, made in zip(
            rng.choice(first, NODES), second, rng.choice([".", "_", ""], NODES), number, machine, strict=True
        )
    ]
    nodes, edges, _ = world.tables()
    return nodes | {"username": np.array(names)}, edges, machine.astype(float)


def as_much_out_as_in(world: World) -> Tables:
    scale = np.exp(world.rng.normal(0, 1, NODES))
    amount = world.amount * scale[world.payer]
    came = np.bincount(world.payee, weights=amount, minlength=NODES)
    gone = np.maximum(np.bincount(world.payer, weights=amount, minlength=NODES), 1.0)
    passes = world.rng.random(NODES) < np.where(world.rare, 0.8, 0.02)
    factor = np.where(passes & (came > 0), came / gone * world.rng.uniform(0.9, 1.0, NODES), 1.0)
    nodes, edges, _ = world.tables(amount=(amount * factor[world.payer]).round(2))
    left = np.bincount(world.payee, weights=edges["amount"], minlength=NODES)
    out = np.bincount(world.payer, weights=edges["amount"], minlength=NODES)
    return nodes, edges, out / np.maximum(left + out, 1.0)


def opened_at_night(world: World) -> Tables:
    odd = world.rng.random(NODES) < np.where(world.rare, 0.7, 0.03)
    hour = np.where(odd, world.rng.uniform(1, 5, NODES), np.clip(world.rng.normal(14, 4, NODES), 0, 23.9))
    second = 1_600_000_000 // DAY * DAY + DAY * world.rng.integers(0, 1_000, NODES) + (3600 * hour).astype(np.int64)
    nodes, edges, _ = world.tables()
    return nodes | {"opened": np.datetime_as_string(second.astype("datetime64[s]"))}, edges, odd.astype(float)


def stated_round(world: World) -> Tables:
    odd = world.rng.random(NODES) < np.where(world.rare, 0.7, 0.03)
    income = np.exp(world.rng.normal(10.4, 0.5, NODES)).round()
    nodes, edges, _ = world.tables()
    return nodes | {"income": np.where(odd, (income / 5_000).round() * 5_000, income)}, edges, odd.astype(float)


def beyond_peers(world: World) -> Tables:
    trade, usual = world.rng.integers(0, 30, NODES), world.rng.normal(8, 1.2, 30)
    beyond = world.rng.normal(0, 0.4, NODES) + np.where(world.rare, 1.0, 0.0)
    nodes, edges, _ = world.tables()
    names = np.array([f"trade {k}" for k in range(30)])
    return nodes | {"trade": names[trade], "billed": np.exp(usual[trade] + beyond).round(2)}, edges, beyond


def loud_texts(world: World) -> Tables:
    words = "best service home garden repair clean paint roof quick friendly family local price today work wood".split()
    texts, loud = [], world.rng.beta(np.where(world.rare, 3, 1), np.where(world.rare, 6, 14))
    for share in loud:
        some = world.rng.choice(words, world.rng.integers(6, 16))
        texts.append(" ".join(one.upper() if up else one for one, up in zip(some, world.rng.random(len(some)) < share, strict=True)))  # fmt: skip
    nodes, edges, _ = world.tables()
    return nodes | {"about": np.array(texts)}, edges, loud


def bad_batches(world: World) -> Tables:
    batch, odd = world.rng.integers(0, 60, NODES), world.rng.random(NODES) < np.where(world.rare, 0.7, 0.03)
    batch = np.where(odd, world.rng.integers(0, 4, NODES), batch)
    code = world.rng.choice(256, 60, replace=False)[batch]
    serial = [
        f"SN-{one:02X}-{k:06d}" for one, k in zip(code, world.rng.choice(10**6, NODES, replace=False), strict=True)
    ]
    nodes, edges, _ = world.tables()
    return nodes | {"serial": np.array(serial)}, edges, (batch < 4).astype(float)


def large_sums_abroad(world: World) -> Tables:
    """As many large payments as others have, and as many abroad; only theirs are the same ones."""
    abroad, rng = world.rng.random(NODES) < 0.3, world.rng
    large, odd = rng.random(world.payer.size) < 0.3, world.rare[world.payer] & (rng.random(world.payer.size) < 0.95)
    there = np.where(odd, large, rng.random(world.payer.size) < 0.3)
    payee = np.where(
        there, rng.choice(np.flatnonzero(abroad), there.size), rng.choice(np.flatnonzero(~abroad), there.size)
    )
    amount = (world.amount * np.where(large, 20, 1)).round(2)
    country = np.array(["home", "abroad"])[abroad.astype(int)]
    nodes, edges, _ = world.tables(payee=payee, amount=amount, country=country)
    agree = np.bincount(world.payer, weights=large & there, minlength=NODES)
    return nodes, edges, agree / np.maximum(np.bincount(world.payer, weights=large, minlength=NODES), 1)


def money_at_second_hand(world: World) -> Tables:
    """What they get comes from accounts that got theirs from listed ones, by the sums and not by the number of payments."""
    rng, listed = world.rng, world.rng.random(NODES) < 0.08
    amount = rng.lognormal(5, 1.8, world.payer.size).round(2) + 0.01
    total = np.maximum(np.bincount(world.payee, weights=amount, minlength=NODES), 0.01)
    first = np.bincount(world.payee, weights=amount * listed[world.payer], minlength=NODES) / total
    second = np.bincount(world.payee, weights=amount * first[world.payer], minlength=NODES) / total
    place = np.empty(NODES, dtype=np.int64)  # the accounts with the largest shares are the rare ones, but for chance
    place[np.argsort(second + rng.normal(0, 0.3 * second.std(), NODES))] = np.argsort(world.rare, kind="stable")
    of, known = np.argsort(place), np.array(["no", "yes"])
    nodes, edges, _ = world.tables(payer=place[world.payer], payee=place[world.payee], amount=amount)
    return nodes | {"listed": known[listed[of].astype(int)]}, edges, second[of]


def rings(world: World) -> Tables:
    """Groups of eight pay one another large sums, and anybody small ones; some groups are rare."""
    rng = world.rng
    order = np.concatenate([rng.permutation(np.flatnonzero(world.rare == rare)) for rare in (True, False)])
    group = np.empty(NODES, dtype=np.int64)
    group[order] = np.arange(NODES) // 8
    inside = rng.random(world.payer.size) < 0.25
    mate = order[np.minimum(8 * group[world.payer] + rng.integers(0, 8, world.payer.size), NODES - 1)]
    payee = np.where(inside & (mate != world.payer), mate, world.payee)
    amount = rng.lognormal(np.where(inside, 6.0, 3.0), 0.8).round(2) + 0.01
    mates = np.bincount(group, weights=world.rare)[group] / np.bincount(group)[group]
    return *world.tables(payee=payee, amount=amount)[:2], mates


WORLDS: dict[str, Callable[[World], Tables]] = {
    "round sums": round_sums,
    "just below a limit": below_a_limit,
    "at night": at_night,
    "on Tuesdays": on_tuesdays,
    "one sum again and again": one_sum_again,
    "abroad": abroad,
    "eight of 120 merchants": a_few_merchants,
    "names made by machine": made_up_names,
    "as much out as in": as_much_out_as_in,
    "opened at night": opened_at_night,
    "a stated sum is round": stated_round,
    "bills beyond its trade": beyond_peers,
    "loud texts": loud_texts,
    "four of 60 batches": bad_batches,
    "large sums abroad": large_sums_abroad,
    "money at second hand": money_at_second_hand,
    "rings by sums": rings,
}


def usual_columns(nodes: dict[str, np.ndarray], edges: dict[str, np.ndarray]) -> np.ndarray:
    """What is usually made of such tables, gaps as 0."""
    own = pl.DataFrame(
        {name: column for name, column in nodes.items() if len(set(column)) < 50 or column.dtype.kind in "if"}
    )
    own = own.to_dummies(pl.selectors.string()) if pl.String in own.dtypes else own
    table = pl.DataFrame(edges).with_columns(quarter=(pl.col("second") % DAY // (DAY // 4)).cast(pl.String))
    found = [own.to_numpy()]
    for side, other in (("payer", "payee"), ("payee", "payer")):
        words = [name for name in ("channel", "quarter", "merchant") if name in table.columns]
        amount = pl.col("amount")
        said = [pl.len(), amount.sum(), amount.mean().alias("mean"), amount.std().alias("spread")]
        said += [amount.min().alias("least"), amount.max().alias("greatest")]
        dummies = table.select(side, *words).to_dummies(words).group_by(side).mean().rename({side: "node"})
        partners = own.select(pl.all().name.prefix("of ")).with_columns(node=pl.Series(np.arange(NODES)))
        means = table.select(pl.col(side), node=pl.col(other)).join(partners, on="node").drop("node")
        means = means.group_by(side).mean().rename({side: "node"})
        rows = pl.DataFrame({"node": np.arange(NODES)}).join(
            table.group_by(side).agg(said).rename({side: "node"}), on="node", how="left"
        )
        rows = rows.join(dummies, on="node", how="left").join(means, on="node", how="left").sort("node")
        found.append(rows.drop("node").fill_null(0.0).to_numpy())
    return np.hstack(found).astype(np.float64)


def by_forest(columns: np.ndarray, y: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    forest = RandomForestClassifier(300, min_samples_leaf=2, random_state=0)
    fitted = CalibratedClassifierCV(forest, method="sigmoid", cv=5).fit(columns[labelled], y[labelled])
    return np.asarray(fitted.predict_proba(columns)[:, 1])


def by_calirare(
    nodes: dict[str, np.ndarray], edges: dict[str, np.ndarray], y: np.ndarray, labelled: np.ndarray
) -> np.ndarray:
    label = [("yes" if rare else "no") if known else None for rare, known in zip(y, labelled, strict=True)]
    when = 1_704_067_200 + edges["second"]  # from a Monday on
    monday = {"payer": edges["payer"], "payee": edges["payee"]}
    rest = {name: column for name, column in edges.items() if name not in (*monday, "second")}
    graph = cr.read_tables(
        {"id": np.arange(NODES), **nodes, "fraud": label}, {**monday, "time": when, **rest}, label="fraud", rare="yes"
    )
    return np.asarray(cr.RareCategoryClassifier(device="cpu").fit(graph).predict_proba(graph)[:NODES, 1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="some of the habits, with commas")
    arguments = parser.parse_args()
    print(f"{'habit':26s} {'auto AP':>8s} {'forest':>7s} {'truth':>7s} {'auto NLL':>9s} {'forest':>7s} {'truth':>7s}")
    for name, make in WORLDS.items():
        if arguments.only and name not in arguments.only.split(","):
            continue
        found = []
        for seed in range(arguments.seeds):
            world = World.draw(seed)
            nodes, edges, truth = make(world)
            y, labelled = world.rare.astype(int), np.random.default_rng([seed, 1]).random(NODES) < LABELLED
            said = (
                by_calirare(nodes, edges, y, labelled),
                by_forest(usual_columns(nodes, edges), y, labelled),
                by_forest(truth[:, None], y, labelled),
            )
            found.append(
                [100 * average_precision_score(y[~labelled], p[~labelled]) for p in said]
                + [log_loss(y[~labelled], p[~labelled]) for p in said]
            )
        mean = np.mean(found, axis=0)
        print(
            f"{name:26s} {mean[0]:8.1f} {mean[1]:7.1f} {mean[2]:7.1f} {mean[3]:9.3f} {mean[4]:7.3f} {mean[5]:7.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
