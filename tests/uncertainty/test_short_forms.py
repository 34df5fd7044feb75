"""What a notebook shows of an explanation and of intervals: a few lines, however many nodes."""

from __future__ import annotations

import numpy as np

from calirare.detectors.base import Contributions
from calirare.uncertainty.explanation import make_explanation
from calirare.uncertainty.jackknife import Intervals


def test_an_explanation_names_the_strongest_columns_and_labels():
    names = ("age", "sum, outgoing", "degree", "risk")
    found = Contributions(0.0, names, ("own",) * 4, np.array([0.1, -2.0, 0.5, 0.25]))
    told = make_explanation(2, 0.5, found, slope=1.0)
    assert repr(told) == (
        "Explanation of node 2: P(rare) 0.500\n"
        "  logit +0.00 = base +1.15 and the shares of 4 columns: -2.00 sum, outgoing; +0.50 degree; +0.25 risk; …"
    )
    names = {"ids": np.array(["a", "b", "c"]), "class_names": ("ok", "fraud")}
    named = told.with_labels(np.array([0, 1]), np.array([0, 1]), np.array([0.01, -0.2]), **names)
    assert repr(named).startswith("Explanation of node c: ")
    assert repr(named).splitlines()[2] == "  labels that pull P(rare), of 2: -0.200 b (fraud); +0.010 a (ok)"


def test_intervals_show_the_first_and_how_wide_they_are():
    lower = np.linspace(0.0, 0.4, 1_001)
    assert repr(Intervals(lower, lower + 0.125)) == (
        "Intervals(1,001 nodes: 0.000 to 0.125, 0.000 to 0.125, 0.001 to 0.126, …, median width 0.125)"
    )
    assert repr(Intervals(lower[:0], lower[:0])) == "Intervals(0 nodes)"
