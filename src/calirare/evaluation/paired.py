"""Whether one model says more than another about the same labels.

Each label is judged by answers that it did not make. With d_i = ln p_new(y_i) − ln p_old(y_i), positive where the new model
gave the truth more probability, and the class shares π_c of the population,

    gain = Σ_c π_c · mean_c(d) ,      error² = Σ_c π_c² · var_c(d) / n_c ,

so that labels of which one class is over-represented count as a random draw would. The pairing takes out what is hard for
both models; the error is what the choice of labels leaves open. The new model counts as worse where gain + error < 0: an
equal one is called worse by chance one time in six, one that is worse by two errors five times in six. Nobody may be there to
look, and keeping an old model that is as good costs little.

`scipy.stats.ttest_rel` weighs all labels alike, so it cannot count a class by its share in the population; on one
class alone the two agree, which a test holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.errors import InputError

_TINY = 1e-12
_NOTHING = 5e-5
"""A difference that the four digits shown do not tell, which rounding may make, is none."""


@dataclass(frozen=True)
class PairedLikelihood:
    """How much log-likelihood per label a new model gains over an old one.

    Args:
        gain: Mean difference, positive where the new model is better.
        error: Its standard error.
        num_labels: Labels that judged both.
    """

    gain: float
    error: float
    num_labels: int

    @property
    def is_worse(self) -> bool:
        """Whether the new model is worse by more than the error."""
        return self.gain + max(self.error, _NOTHING) < 0

    def say(self) -> str:
        """In words.

        >>> PairedLikelihood(0.02, 0.01, 300).say()
        'better by 0.0200 ± 0.0100 of log-likelihood per label, on the same 300 labels'
        >>> PairedLikelihood(0.002, 0.01, 300).say().split(":")[0]
        'as good as the old one'
        """
        how, gain = f"{'worse' if self.gain < 0 else 'better'} by", abs(self.gain)
        if abs(self.gain) <= max(self.error, _NOTHING):
            how, gain = "as good as the old one: a gain of", self.gain
        return (
            f"{how} {gain:.4f} ± {self.error:.4f} of log-likelihood per label, on the same {self.num_labels:,} labels"
        )


def compare_likelihood(y_rare: Any, old: Any, new: Any, rare_share: float) -> PairedLikelihood:
    """The gain of one model over another on the same labels.

    Args:
        y_rare: `(n,)` whether each node is rare.
        old: `(n,)` P(rare) by the old model, that label left out.
        new: `(n,)` the same by the new one.
        rare_share: The population's share of rare nodes.

    >>> found = compare_likelihood([1, 0, 0], [0.5, 0.5, 0.5], [0.8, 0.2, 0.2], rare_share=0.1)
    >>> round(found.gain, 4) == round(float(np.log(1.6)), 4), found.is_worse
    (True, False)
    """
    rare = np.asarray(y_rare, dtype=bool)
    before, after = (np.clip(np.asarray(p, dtype=np.float64), _TINY, 1 - _TINY) for p in (old, new))
    if not rare.shape == before.shape == after.shape or rare.ndim != 1 or not rare.size:
        raise InputError(f"both models must speak of the same labels; got {rare.shape}, {before.shape}, {after.shape}.")
    difference = np.where(rare, np.log(after / before), np.log((1 - after) / (1 - before)))
    gain = variance = 0.0
    for members, share in ((rare, rare_share), (~rare, 1 - rare_share)):
        count = int(members.sum())
        if count:
            gain += share * float(difference[members].mean())
            variance += share**2 * float(difference[members].var(ddof=1 if count > 1 else 0)) / count
    return PairedLikelihood(gain, float(np.sqrt(variance)), int(rare.size))
