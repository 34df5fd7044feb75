"""From the series to signals, each quiet, to be watched, or an alarm.

Two things must come together for an alarm: more than chance, and enough to matter.

    input columns   a shift that `calirare.data.tables.shift` calls large; moderate: watch
    scores          stability index above chance by more than 0.10 (alarm) or half of that (watch); or the share of rare nodes
                    that they suggest: its whole interval beyond twice or half of what those of the fit did (alarm), or a quarter (watch)
    share alerted   the share of nodes above the threshold of an alert beside that of the fit: beyond chance, where nodes
                    that are joined count as half a node each, and by more than a quarter
    calibration     rare cases among those decided in the window, and among all since the model came into use, outside
                    the interval of the forecast for exactly these cases, and by half of it or more (less: watch)
    cost            their cost outside its interval

Of the scoring runs the newest counts. An earlier one in the window that alarmed is still to be watched.

Chance has a budget: the four tests that are intervals (share, calibration twice, cost) are wrong half a time in a hundred
each, so in two of a hundred quiet weeks at most. `benchmarks/stream.py` measures all of them together.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import norm

from calirare.data.tables.shift import MODERATE
from calirare.evaluation.monitoring.observed import Cases, Observed, Outcome, compare_outcome, observe
from calirare.evaluation.monitoring.runs import Reference, Run
from calirare.evaluation.monitoring.series import Series
from calirare.evaluation.monitoring.stored import need
from calirare.metrics.bootstrap import Estimate
from calirare.uncertainty.calibration_maps import CalibrationDraws

State = Literal["quiet", "watch", "alarm", "unknown"]
STATES: tuple[State, ...] = ("quiet", "watch", "alarm", "unknown")
DAY = 86_400.0
OWN = "review"
"""The run of the desk: its own nodes, those of the fit. It tells nothing of what has moved since."""
CHANCE = 0.005
"""Of a false alarm by each test that is an interval."""
FEWEST_CASES = 10
_MOST_SAID = 5
"""Columns that are named; of more it is told how many."""
_SAYS_NOTHING = 0.5
"""An interval of a share that is wider, and no alarm, is not told."""
_MATTERS, _WORTH_A_LOOK = 2.0, 1.25
"""Factors by which the share alerted, or that of rare nodes, must differ. One quiet network and the next differ by half, more than chance allows nodes:
columns of far neighbours move for all of them together. `benchmarks/stream.py` measures it."""
_WRONG = 1.5
"""Factor by which the rare cases must differ from those foreseen."""
_JOINED = 2.0
"""Nodes that are joined are alike: so many of them count as one."""


@dataclass(frozen=True)
class Signal:
    """One thing that is watched.

    Args:
        name: What.
        state: `"quiet"`, `"watch"`, `"alarm"`, or `"unknown"` where too little is there to tell.
        words: What was found.
    """

    name: str
    state: State
    words: str


@dataclass(frozen=True, eq=False)
class Watch:
    """The state of a model in use.

    Args:
        version: The model.
        signals: What is watched.
        runs: Its scoring runs, (time, command, run), oldest first.
        observed: What the decisions say by score.
        window: Foreseen and observed for the decisions of the window under this model; None where there are too few.
        since: The same for all decisions under this model.
        unsure: Cases that were left undecided.
    """

    version: str
    signals: tuple[Signal, ...]
    runs: tuple[tuple[float, str, Run], ...]
    observed: Observed | None
    window: Outcome | None
    since: Outcome | None
    unsure: int

    @property
    def alarms(self) -> tuple[Signal, ...]:
        return tuple(one for one in self.signals if one.state == "alarm")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "model": self.version,
            "alarm": bool(self.alarms),
            "signals": [asdict(one) for one in self.signals],
            "runs": [{"time": time, "command": command, **run.to_json()} for time, command, run in self.runs],
            "observed": None if self.observed is None else asdict(self.observed) | {"words": self.observed.say()},
            "window": None if self.window is None else asdict(self.window),
            "since": None if self.since is None else asdict(self.since),
            "unsure": self.unsure,
        }


def watch(
    series: Series, version: str, draws: CalibrationDraws, *, days: float = 7.0, now: float | None = None
) -> Watch:
    """Read the series of a model and judge it.

    Args:
        series: Where runs and decisions are kept.
        version: The model in use.
        draws: What its labels leave open of its calibration.
        days: Length of the window.
        now: Seconds since 1970; default: the clock.
    """
    now = clock.time() if now is None else now
    since = now - days * DAY
    references = [Reference.from_json(row.value) for row in series.read("reference", version)]
    rows = [row for row in series.read("run", version) if row.time <= now]
    runs = tuple((row.time, row.subject, Run.from_json(row.value)) for row in rows)
    decided = [row for row in series.read("decision") if row.time <= now]
    cases = Cases.of([row for row in decided if row.model_version == version])
    others = len(Cases.of([row for row in decided if row.model_version != version and row.time > since]))
    recent = [run for time, command, run in runs if time > since and command != OWN]
    reference = references[0] if references else None
    need(reference is None or all(len(run.counts) == reference.num_bins for _, _, run in runs), "bins")
    window, whole = (_outcome(part, draws) for part in (cases.take(cases.time > since), cases))
    signals = [
        _of_runs("input columns", [run for run in recent if run.columns], _inputs),
        _of_runs("scores", recent, _scores),
        _of_runs("share alerted", recent, lambda run: _alerted(run, reference)),
        _calibration("calibration, this window", window, others),
        _calibration("calibration, since the model came", whole),
        _cost(window, others),
    ]
    picked_from = [run for _, command, run in runs if command == OWN] or [run for _, _, run in runs]
    observed = None
    if picked_from and reference is not None and len(cases):
        observed = observe(cases, picked_from[-1], reference)
    return Watch(version, tuple(signals), runs, observed, window, whole, cases.unsure)


def _outcome(cases: Cases, draws: CalibrationDraws) -> Outcome | None:
    return compare_outcome(cases, draws, coverage=1 - CHANCE) if len(cases) >= FEWEST_CASES else None


def _of_runs(name: str, runs: Sequence[Run], judge: Callable[[Run], tuple[State, str]]) -> Signal:
    """The newest run counts; one before it that would have alarmed is still worth a look."""
    if not runs:
        return Signal(name, "unknown", "No scoring run in this window.")
    state, words = judge(runs[-1])
    before = [found for found in map(judge, runs[:-1]) if found[0] == "alarm"]
    if before and state == "quiet":
        return Signal(name, "watch", f"{words} An earlier run in this window alarmed: {before[-1][1]}")
    return Signal(name, state, words)


def _inputs(run: Run) -> tuple[State, str]:
    shifted = run.shifted
    if not shifted:
        return "quiet", f"None of {len(run.columns)} columns has shifted since the fit."
    worst: State = "alarm" if any(severity == "large" for severity, _, _ in shifted) else "watch"
    said = [f"{column}, {severity}: {words}" for severity, column, words in shifted[:_MOST_SAID]]
    more = f" And {len(shifted) - _MOST_SAID} more." if len(shifted) > _MOST_SAID else ""
    return worst, f"{' '.join(said)}{more}"


def _scores(run: Run) -> tuple[State, str]:
    index, excess = run.score_shift
    state: State = "alarm" if excess > MODERATE else "watch" if excess > MODERATE / 2 else "quiet"
    share, moved = run.share, _share_moved(run.share)
    state = max(state, moved, key=STATES.index)
    words = f"Stability index {index:.3f} beside the fit, {max(excess, 0.0):.3f} above chance."
    if share is not None and moved == "quiet" and share["upper"] - share["lower"] > _SAYS_NOTHING:
        words += " They do not tell what share of the nodes is rare."
    elif share is not None:
        span = f"{share['now']:.1%} ({share['lower']:.1%} to {share['upper']:.1%})"
        words += f" If nothing but the share of rare nodes had changed, it would be {span}; {share['before']:.1%} at the fit."
    return state, words


def _share_moved(share: Mapping[str, float] | None) -> State:
    """By the end of the interval that is nearest to the share of the fit.

    >>> [_share_moved({"before": 0.1, "now": 0.3, "lower": lower, "upper": 0.4}) for lower in (0.2, 0.15, 0.1)]
    ['alarm', 'watch', 'quiet']
    """
    if share is None:
        return "quiet"
    factor = max(share["lower"] / share["before"], share["before"] / max(share["upper"], 1e-12))
    return "alarm" if factor >= _MATTERS else "watch" if factor >= _WORTH_A_LOOK else "quiet"


def _alerted(run: Run, reference: Reference | None) -> tuple[State, str]:
    if reference is None:
        return "unknown", "How the model scored the nodes of its fit is not known."
    then, now, n, m = reference.alerted, run.alerted, reference.num_nodes, run.nodes
    pooled = (then * n + now * m + 0.5) / (n + m + 1)
    error = np.sqrt(_JOINED * pooled * (1 - pooled) * (1 / n + 1 / m))
    surprising = abs(now - then) > norm.ppf(1 - CHANCE / 2) * error
    floor = 0.5 / n
    factor = (now + floor) / (then + floor)
    factor = max(factor, 1 / factor)
    state: State = "quiet"
    if surprising and factor >= _WORTH_A_LOOK:
        state = "alarm" if factor >= _MATTERS else "watch"
    return state, f"If nobody reviewed, {now:.2%} of {m:,} nodes would be alerted; {then:.2%} at the fit."


def _too_few(others: int) -> str:
    """Why decisions tell nothing; `others` were made under other models, and say nothing of this one."""
    more = f"; {others:,} in this window under others" if others else ""
    return f"Fewer than {FEWEST_CASES} decisions “rare” or “normal” under this model{more}."


def _calibration(name: str, found: Outcome | None, others: int = 0) -> Signal:
    if found is None:
        return Signal(name, "unknown", _too_few(others))
    state: State = "quiet" if found.rare_agrees else "alarm" if _is_far(found) else "watch"
    return Signal(name, state, _against(found.cases, "rare ones", found.rare, found.observed_rare))


def _is_far(found: Outcome) -> bool:
    """Many decisions tell a tenth from chance; half a case on both sides, so that none foreseen is no division by zero."""
    factor = (found.observed_rare + 0.5) / (found.rare.value + 0.5)
    return max(factor, 1 / factor) >= _WRONG


def _cost(found: Outcome | None, others: int) -> Signal:
    if found is None:
        return Signal("cost", "unknown", _too_few(others))
    state: State = "quiet" if found.cost_agrees else "alarm"
    return Signal("cost", state, _against(found.cases, "cost", found.cost, found.observed_cost))


def _against(cases: int, what: str, foreseen: Estimate, came: float) -> str:
    return (
        f"{cases:,} cases decided; {what} foreseen {foreseen.value:,.1f} ({foreseen.lower:,.1f} to "
        f"{foreseen.upper:,.1f}), observed {came:,.1f}."
    )
