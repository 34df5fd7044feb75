"""The same model where rare nodes are more or less frequent than at the fit."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from calirare.calibration.base import at_shares
from calirare.data.arrays import as_nodes
from calirare.data.graph import RareGraph
from calirare.errors import InputError, LabelError
from calirare.estimator.asked import AskedGraph
from calirare.estimator.evidence import read_nodes
from calirare.estimator.labels import move_rare_share
from calirare.estimator.sureness import Sureness
from calirare.uncertainty.prior_shift import Share, share_of_new_nodes


class OtherShares(Sureness):
    """What the estimator says at another share of rare nodes, and what that share may be."""

    prior: str

    def with_rare_share(self, rare_share: float) -> Self:
        """The same model for a population in which this share of the nodes is rare; this one is not changed.

        Probabilities, intervals, sets, decisions and forecasts of the answer are at that share: odds times the ratio of
        the odds of the two shares. That is right where rare nodes look as they did, and only their number has changed.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> moved = clf.with_rare_share(0.2)
        >>> p, q, old = clf.predict_proba(graph)[:, 1], moved.predict_proba(graph)[:, 1], clf.shares_[1]
        >>> bool(np.allclose(q / (1 - q), p / (1 - p) * (0.2 / 0.8) / (old / (1 - old))))
        True
        """
        state = self.state_
        if state.calibrator is None or self.prior != "natural":
            raise InputError(
                f"probabilities can be moved to another share where they are calibrated to a known one: with "
                f"prior='natural' and a method that calibrates; this model has prior={self.prior!r}, method={self.method!r}."
            )
        shares = move_rare_share(state.shares, state.rare_class, rare_share)
        left_out = at_shares(self.predict_left_out(), shares / state.shares)
        moved = copy.copy(self)
        moved.rare_share = float(rare_share)
        calibrator = copy.copy(state.calibrator).shift_to(self.fitted_shares_, shares)
        # The scores of the fit are at its share: there is nothing left to compare new ones with.
        moved.state_ = replace(state, calibrator=calibrator, shares=shares, left_out=left_out, scores=None)
        if self.asked_ is not None:  # what was answered before was at the old share
            moved.asked_ = AskedGraph(self.asked_.graph, self.asked_.inputs)
        return moved

    @property
    def fitted_shares_(self) -> np.ndarray:
        """`(C,)` class shares of the fit; `shares_` differs from them after `with_rare_share`."""
        ratio = None if self.calibrator_ is None else self.calibrator_.ratio_
        return self.shares_ if ratio is None else np.asarray(self.shares_ / ratio)

    @property
    def moved_share(self) -> float | None:
        """The share of rare nodes that the model speaks of, where `with_rare_share` moved it there; else None."""
        moved = self.calibrator_ is not None and self.calibrator_.ratio_ is not None
        return self.base_rate_ if moved else None

    def estimate_rare_share(self, graph: RareGraph, nodes: Any = None, *, coverage: float = 0.9) -> Share:
        """The share of rare nodes in a graph, read off its scores, with an interval; no label of it is needed.

        Nodes whose labels the model has read do not count. `.explained` is False where more has changed than the share,
        and then the estimate cannot be trusted.

        Args:
            graph: The nodes to score, old or new.
            nodes: Indices or a mask, where the share among some of them is asked for.
            coverage: Of the interval.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=1_000, labelled_share=0.3, seed=0)
        >>> found = cr.RareCategoryClassifier(detector="linear").fit(graph).estimate_rare_share(graph)
        >>> bool(found.lower < 0.05 < found.upper), found.explained
        (True, True)
        """
        if not self.skill().shown:
            raise LabelError(
                "the share of rare nodes cannot be read off the scores: left-out labels show no skill of this model. "
                "Label some nodes at random and give their share."
            )
        read = read_nodes(self, graph)
        asked = graph.scored if nodes is None else as_nodes(nodes, graph.num_nodes)
        chosen = np.setdiff1d(asked, [] if read is None else read)
        if not asked.size:
            raise InputError("nodes must name at least one node whose share is asked for.")
        if not chosen.size:
            raise LabelError("the model has read the labels of all nodes of this graph; there is no share to estimate.")
        return share_of_new_nodes(
            self.predict_proba(graph)[chosen, self.rare_class_],
            self.base_rate_,
            *self.left_out_rare(),
            # What rare nodes score beside others is known as well as labels tell it, whoever knows the share at the fit.
            self._calibration_draws(self._num_share_labels() or len(self.labelled_nodes_)),
            coverage=coverage,
            seed=self.seed,
        )
