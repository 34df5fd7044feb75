"""One judgement of a model, which the report, the desk and the command line show.

`evaluate` gathers the evidence, computes every metric with its interval, and says in words how far to trust the model.
"""

from calirare.evaluation.first_lines import first_lines
from calirare.evaluation.judgement import Evaluation, evaluate
from calirare.evaluation.look_again import DoubtfulLabel, look_again
from calirare.evaluation.verdict import Verdict

__all__ = ["DoubtfulLabel", "Evaluation", "Verdict", "evaluate", "first_lines", "look_again"]
