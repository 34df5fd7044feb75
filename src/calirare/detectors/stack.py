"""Several detectors side by side. Who is heard, and how loudly, is decided by calibration on their left-out logits."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Self

import numpy as np
import torch

from calirare.detectors.base import Contributions, Detector, DetectorInputs, LabelledNodes, Progress, State
from calirare.detectors.boosting import Boosting
from calirare.detectors.forest import Forest
from calirare.detectors.linear import Linear
from calirare.detectors.networks.members import GCN
from calirare.detectors.networks.network import Network
from calirare.detectors.registry import make_detector, register
from calirare.detectors.silence import Silence
from calirare.detectors.sparse import Sparse
from calirare.detectors.spreading import Spreading
from calirare.detectors.stored import inside, need, numbers, texts, under
from calirare.detectors.surroundings import Surroundings
from calirare.errors import CalirareError, InputError, LabelError
from calirare.features.columns import ColumnGroup

logger = logging.getLogger(__name__)
_BLOCK_NUMBERS = 8_000_000
"""Numbers in a block of left-out logits, per class."""


def default_members() -> list[Detector]:
    """What `"auto"` stacks: members that differ in kind, each cheap beside a network."""
    return [Linear(), Sparse(), GCN(weight_decay="left_out"), Forest(), Boosting(), Surroundings(), Spreading()]


def _fit(
    member: Detector,
    inputs: DetectorInputs,
    labels: LabelledNodes,
    seed: int,
    progress: Progress | None,
    beside_others: bool,
    may_be_told: bool,
) -> str | None:
    """Fit a member; why the stack should go on without it, or None."""
    if may_be_told:
        return (
            f"it would read {', '.join(map(repr, inputs.apart))} of the neighbours, who tell a node's own label there"
        )
    try:
        if beside_others and (reason := member.skip_with(labels)):
            return reason
        member.fit(inputs, labels, seed=seed, progress=progress)
        if beside_others and (reason := member.skip()):
            return reason
        member.left_out_logits()
    except CalirareError as error:
        return str(error)
    return None


@register
class Stack(Detector):
    """All members fitted on the same labels. Its logits have one more axis than those of a member: `(N, K, C)`.

    A member that fails, or whose own evidence says that it cannot help, is left out with a log line. Networks are silent on
    nodes without edges, unless the labels there speak for them, and so are surroundings and spreading where nothing comes (`Silence`).
    Networks read every attribute of the neighbours: where some must be read of the node alone, they are left out beside others.

    Args:
        members: Detectors, or their names; default: linear, sparse, gcn, forest, boosting where it has labels enough,
            surroundings and spreading.
    """

    name = "auto"
    learned = "members_"

    def __init__(self, members: Sequence[str | Detector] | None = None) -> None:
        self.members = members

    def fit(
        self, inputs: DetectorInputs, labels: LabelledNodes, *, seed: int = 0, progress: Progress | None = None
    ) -> Self:
        wanted = self._unfitted()
        all_networks = all(isinstance(member, Network) for member in wanted)
        self.members_: list[Detector] = []
        self.places_: list[int] = []
        self.left_out_reasons_: dict[str, str] = {}
        for number, member in enumerate(wanted):
            step = None if progress is None else _share_of(progress, member.name, number, len(wanted))
            told = bool(inputs.apart) and isinstance(member, Network) and not all_networks
            reason = _fit(member, inputs, labels, seed, step, beside_others=len(wanted) > 1, may_be_told=told)
            if reason is None:
                self.members_.append(member)
                self.places_.append(number)
            else:
                self.left_out_reasons_[member.name] = reason
                logger.info("%s is left out: %s", member.name, reason)
        if not self.members_:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.left_out_reasons_.items())
            raise LabelError(f"no detector could be fitted. {reasons}")
        self.alone_ = inputs.alone[labels.nodes]
        networks = np.array([isinstance(member, Network) for member in self.members_])
        self.silence_ = Silence.learn(self._as_fitted(), labels, self.alone_, networks, self._nothing)
        return self

    @property
    def _nothing(self) -> np.ndarray:
        """`(K, C)` the logits of members that have nothing to say; NaN for those that always speak."""
        always = np.full(self.members_[0].left_out_logits().shape[1], np.nan)
        return np.stack([always if member.nothing is None else member.nothing for member in self.members_])

    def _unfitted(self) -> list[Detector]:
        members = default_members() if self.members is None else self.members
        if isinstance(members, str) or not isinstance(members, Sequence) or not members:
            raise InputError(f"members must be a list of detectors or their names, at least one; got {members!r}.")
        made = [make_detector(member) for member in members]
        if any(isinstance(member, Stack) for member in made):
            raise InputError("members must be single detectors; 'auto' is a stack itself. List what it should hold.")
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members that were kept, with a number behind those that occur twice."""
        names = [member.name for member in self.members_]
        return tuple(
            name if names.count(name) == 1 else f"{name} {names[: place + 1].count(name)}"
            for place, name in enumerate(names)
        )

    def logits(self, inputs: DetectorInputs) -> np.ndarray:
        """`(N, K, C)`."""
        self._check_fitted()
        return self.silence_(np.stack([member.logits(inputs) for member in self.members_], axis=1), inputs.alone)

    def left_out_logits(self) -> np.ndarray:
        """`(n, K, C)`."""
        return self.silence_(self._as_fitted(), self.alone_)

    def _as_fitted(self) -> np.ndarray:
        """`(n, K, C)`: left-out logits, every member heard everywhere."""
        return np.stack([member.left_out_logits() for member in self.members_], axis=1)

    @property
    def left_out_rows(self) -> np.ndarray:
        shared = set(self.members_[0].left_out_rows.tolist())
        for member in self.members_[1:]:
            shared &= set(member.left_out_rows.tolist())
        return np.array([row for row in self.members_[0].left_out_rows.tolist() if row in shared], dtype=np.int64)

    def logits_without(self, inputs: DetectorInputs, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks `(rows, (N, b, K, C))`."""
        block = max(1, min(len(rows), _BLOCK_NUMBERS // max(1, inputs.num_nodes * len(self.members_))))
        for start in range(0, len(rows), block):
            asked = rows[start : start + block]
            order = np.argsort(asked)
            answers = []
            for member in self.members_:
                found = list(member.logits_without(inputs, asked))
                told = np.concatenate([part for part, _ in found])
                answers.append(np.concatenate([logits for _, logits in found], axis=1)[:, np.argsort(told)])
            yield asked[order], self.silence_(np.stack(answers, axis=2), inputs.alone)

    def logits_without_at(
        self, inputs: DetectorInputs, rows: np.ndarray, nodes: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """`(len(nodes), len(rows), K, C)`; each member has its own short way to a few nodes.

        With the members' `weights`, one that weighs nothing, and speaks for nobody who does, is not asked: 0 stands for it.
        """
        wanted = np.ones(len(self.members_), dtype=bool) if weights is None else weights != 0
        asked = wanted | (self.silence_.mixture[wanted] != 0).any(axis=0)
        found = np.zeros((len(nodes), len(rows), *self.silence_.nothing.shape))
        for k in np.flatnonzero(asked).tolist():
            found[:, :, k] = self.members_[k].logits_without_at(inputs, rows, nodes)
        return self.silence_(found, inputs.alone[nodes])

    def contributions(self, inputs: DetectorInputs, node: int, rare_class: int) -> Contributions:
        """The members' contributions added up; `weighted_contributions` weighs them as the calibration does."""
        return next(self.weighted_contributions(inputs, np.array([node]), rare_class, np.ones(len(self.members_))))

    def weighted_contributions(
        self,
        inputs: DetectorInputs,
        nodes: np.ndarray,
        rare_class: int,
        weights: np.ndarray,
        told: np.ndarray | None = None,
    ) -> Iterator[Contributions]:
        """Σ_k weight_k · member k's contributions to each node, columns of one name put together.

        Args:
            inputs: The graph.
            nodes: Their indices.
            rare_class: The class looked for.
            weights: `(K,)` of the members. What one that is not heard would weigh goes to those that are heard in its
                place.
            told: `(K,)` bool: whose columns are told; default: everybody's.
        """
        everywhere = self.silence_.weights(weights, self._unheard(inputs, nodes))
        speaks = (everywhere != 0).any(axis=0)
        heard = np.flatnonzero(speaks if told is None else speaks & told).tolist()
        of_members = [self.members_[k].contributions_of(inputs, nodes, rare_class) for k in heard]
        for here in everywhere[:, heard]:
            found = [next(of_member) for of_member in of_members]
            names, groups, places = _together(tuple(one.names for one in found), tuple(one.groups for one in found))
            shares = [weight * one.shares for weight, one in zip(here, found, strict=True)]
            total = np.bincount(places, weights=np.concatenate(shares), minlength=len(names)) if shares else np.zeros(0)
            base = sum(weight * one.base for weight, one in zip(here.tolist(), found, strict=True))
            yield Contributions(base, names, groups, total)

    def _unheard(self, inputs: DetectorInputs, nodes: np.ndarray) -> np.ndarray:
        """`(n, K)` bool: who is not heard at some nodes; only members that may have nothing to say need be asked."""
        said = np.zeros((len(nodes), *self.silence_.nothing.shape))
        for k in np.flatnonzero(~np.isnan(self.silence_.nothing[:, 0])):
            said[:, k] = self.members_[k].logits(inputs)[nodes]
        return self.silence_.unheard(said, inputs.alone[nodes])

    def to(self, device: torch.device) -> Self:
        for member in self.members_:
            member.to(device)
        return self

    def state(self) -> State:
        state: State = {
            "members": [member.name for member in self.members_],
            "places": list(self.places_),
            "reasons": dict(self.left_out_reasons_),
            "alone": self.alone_.astype(np.int64),
        } | under("silence", self.silence_.state())
        for number, member in enumerate(self.members_):
            state |= under(str(number), member.state())
        return state

    def restore(self, state: State) -> Self:
        names, places, reasons = texts(state, "members"), state.get("places"), state.get("reasons")
        wanted = self._unfitted()
        need(isinstance(reasons, dict), "'reasons' must be a mapping")
        need(isinstance(places, list) and len(set(places)) == len(places) == len(names) > 0, "'places' must differ")
        self.members_, self.places_ = [], []
        self.left_out_reasons_ = {str(name): str(reason) for name, reason in dict(reasons or {}).items()}
        for number, (name, place) in enumerate(zip(names, places or [], strict=True)):
            known = isinstance(place, int) and 0 <= place < len(wanted) and wanted[place].name == name
            need(known, f"the stack has no {name!r} at that place")
            self.members_.append(wanted[place].restore(inside(str(number), state)))
            self.places_.append(place)
        self.alone_ = numbers(state, "alone", 1, size=len(self._as_fitted()), kind="i") == 1
        self.silence_ = Silence.restore(inside("silence", state), self._nothing)
        return self


@lru_cache(maxsize=16)
def _together(
    names: tuple[tuple[str, ...], ...], groups: tuple[tuple[ColumnGroup, ...], ...]
) -> tuple[tuple[str, ...], tuple[ColumnGroup, ...], np.ndarray]:
    """Names without repeats, their groups, and where each of the members' columns goes; the same for most nodes."""
    place, group_of = dict[str, int](), dict[str, ColumnGroup]()
    places = []
    for own_names, own_groups in zip(names, groups, strict=True):
        for name, group in zip(own_names, own_groups, strict=True):
            places.append(place.setdefault(name, len(place)))
            group_of[name] = group
    return tuple(place), tuple(group_of.values()), np.array(places, dtype=np.int64)


def _share_of(progress: Progress, name: str, number: int, total: int) -> Progress:
    return lambda share, what: progress((number + share) / total, f"{name}: {what}")
