"""Nodes of another share of rare ones than at the fit: what is said as it stands, at the share given, and at the share estimated.

From each generated network, nodes without a label are drawn so that the wanted share of them is rare. Counted: the mean P(rare)
and the loss as fitted, at the true share, and at the share read off the scores; how often the 90% interval of that estimate
holds the share; how often a change of the share alone is said to explain the scores. In the last row it does not: every logit
is half as far from the base rate, as where much of what the model reads has gone.

    python benchmarks/evidence.py transactions --seeds 50 --jobs 2 --out evidence/
    python benchmarks/other_shares.py evidence/
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import numpy as np
from by_degree import loss
from interval_coverage import draws_of, said, truth
from scipy.special import expit, logit

from calirare.calibration.base import at_shares
from calirare.uncertainty.prior_shift import share_of_new_nodes

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
NUM_NEW = 2_000


def draw(rare: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Positions of new nodes, so that this share of them is rare."""
    rng, num_rare = np.random.default_rng([seed, 5]), round(share * NUM_NEW)
    kept = [rng.choice(np.flatnonzero(rare == flag), size) for flag, size in ((True, num_rare), (False, NUM_NEW - num_rare))]  # fmt: skip
    return np.concatenate(kept)


def moved(p: np.ndarray, old: float, new: float) -> np.ndarray:
    """P(rare) at another share of rare nodes."""
    return at_shares(np.column_stack([1 - p, p]), np.array([(1 - new) / (1 - old), new / old]))[:, 1]


def judge(arrays: dict[str, np.ndarray], key: str, share: float, changed: bool) -> list[float]:
    """Mean P as fitted, loss as fitted, at the true share and at the estimate, the estimate, its width, inside, explained."""
    graph, _, seed = key.split("/")
    known, is_rare, _ = truth(graph, int(seed))
    nodes = arrays[f"{key}/nodes"]
    others = np.setdiff1d(known, nodes)
    own, p = said(arrays, key, others)
    new = draw(is_rare[others], share, int(seed))
    y, p, old_share = is_rare[others][new], p[new], float(is_rare[nodes].mean())
    if changed:
        p = expit(logit(old_share) + 0.5 * (logit(p) - logit(old_share)))
    found = share_of_new_nodes(p, old_share, own, is_rare[nodes], draws_of(arrays, key, own, is_rare[nodes]))
    at = [p, moved(p, old_share, share), moved(p, old_share, min(max(found.value, 1e-4), 1 - 1e-4))]
    inside = found.lower <= share <= found.upper
    return [p.mean(), *(loss(y, one).mean() for one in at), found.value, found.upper - found.lower, inside, found.explained]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    logging.getLogger("calirare").setLevel(logging.ERROR)  # the warning is counted instead
    print("| rare labels | share of the new nodes | said as fitted | NLL as fitted | share given | share estimated | estimate | mean width | inside | explained |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    for count in (30, 100):
        arrays = dict(np.load(arguments.folder / f"transactions-{count}.npz"))
        keys = sorted({"/".join(name.split("/")[:3]) for name in arrays})
        for share, changed in [*((share, False) for share in SHARES), (0.05, True)]:
            row = np.mean([judge(arrays, key, share, changed) for key in keys], axis=0)
            words = f"{share:.0%}{', scores halved' if changed else ''}"
            mean, *losses, value, width, inside, explained = row
            print(
                f"| {count} | {words} | {mean:.3f} | "
                + " | ".join(f"{one:.3f}" for one in losses)
                + f" | {value:.3f} | {width:.3f} | {inside:.0%} | {explained:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
