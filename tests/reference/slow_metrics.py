"""The metrics as loops over nodes: slow, obvious, and written without looking at the fast ones."""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import trapezoid


def _most_probable(row):
    best = 0
    for c in range(len(row)):
        if row[c] > row[best]:
            best = c
    return best


def top_label_pairs(y, probabilities):
    """One (confidence, right?) pair for each node."""
    pairs = []
    for label, row in zip(y, probabilities, strict=True):
        best = _most_probable(row)
        pairs.append((float(row[best]), 1.0 if best == label else 0.0))
    return pairs


def class_pairs(y, probabilities, c):
    """One (p[c], is it c?) pair for each node."""
    return [(float(row[c]), 1.0 if label == c else 0.0) for label, row in zip(y, probabilities, strict=True)]


def width_groups(pairs, num_bins):
    """The pairs of each bin [k/M, (k+1)/M), the last with its right end."""
    groups = [[] for _ in range(num_bins)]
    edges = np.linspace(0, 1, num_bins + 1)
    for pair in pairs:
        for k in range(num_bins):
            if edges[k] <= pair[0] < edges[k + 1] or (k == num_bins - 1 and pair[0] == 1.0):
                groups[k].append(pair)
    return groups


def count_groups(pairs, num_bins):
    """Sorted pairs in parts of nearly equal size; pairs of equal confidence first share their mean outcome."""
    shared = []
    for confidence, _ in pairs:
        twins = [outcome for other, outcome in pairs if other == confidence]
        shared.append((confidence, sum(twins) / len(twins)))
    shared.sort()
    cuts = np.array_split(np.arange(len(shared)), num_bins)
    return [[shared[i] for i in cut] for cut in cuts]


def weighted_gap(groups):
    total = sum(len(group) for group in groups)
    if total == 0:
        return math.nan
    error = 0.0
    for group in groups:
        if group:
            confidence = sum(pair[0] for pair in group) / len(group)
            accuracy = sum(pair[1] for pair in group) / len(group)
            error += len(group) / total * abs(accuracy - confidence)
    return error


def expected_calibration_error(y, probabilities, num_bins=15):
    return weighted_gap(width_groups(top_label_pairs(y, probabilities), num_bins))


def adaptive_calibration_error(y, probabilities, num_bins=15):
    return weighted_gap(count_groups(top_label_pairs(y, probabilities), num_bins))


def classwise_ace(y, probabilities, num_bins=15):
    num_classes = len(probabilities[0])
    errors = [weighted_gap(count_groups(class_pairs(y, probabilities, c), num_bins)) for c in range(num_classes)]
    return sum(errors) / num_classes


def true_class_ace(y, probabilities, of_class, num_bins=20):
    pairs = [pair for label, pair in zip(y, top_label_pairs(y, probabilities), strict=True) if label == of_class]
    return weighted_gap(count_groups(pairs, num_bins))


def macro_true_class_ace(y, probabilities, num_bins=20):
    errors = [true_class_ace(y, probabilities, c, num_bins) for c in range(len(probabilities[0]))]
    errors = [error for error in errors if not math.isnan(error)]
    return sum(errors) / len(errors)


def negative_log_likelihood(y, probabilities, *, of_class=None):
    losses = []
    for label, row in zip(y, probabilities, strict=True):
        if of_class is None or label == of_class:
            losses.append(-math.log(max(row[label], 1e-15)))
    return sum(losses) / len(losses) if losses else math.nan


def brier_score(y, probabilities, *, of_class=None):
    losses = []
    for label, row in zip(y, probabilities, strict=True):
        if of_class is None or label == of_class:
            distance = sum((row[c] - (1 if c == label else 0)) ** 2 for c in range(len(row)))
            losses.append(distance / 2 if len(row) == 2 else distance)
    return sum(losses) / len(losses) if losses else math.nan


def recall(y, predicted, rare_class=1):
    found = [guess == rare_class for label, guess in zip(y, predicted, strict=True) if label == rare_class]
    return sum(found) / len(found) if found else math.nan


def precision(y, predicted, rare_class=1):
    right = [label == rare_class for label, guess in zip(y, predicted, strict=True) if guess == rare_class]
    return sum(right) / len(right) if right else 0.0


def macro_f1(y, predicted):
    scores = []
    for c in sorted(set(y) | set(predicted)):
        r, p = recall(y, predicted, c), precision(y, predicted, c)
        r = 0.0 if math.isnan(r) else r
        scores.append(2 * p * r / (p + r) if p + r > 0 else 0.0)
    return sum(scores) / len(scores)


def accuracy(y, predicted):
    return sum(label == guess for label, guess in zip(y, predicted, strict=True)) / len(y)


def average_precision(y_rare, scores):
    num_rare = sum(y_rare)
    if not num_rare:
        return math.nan
    area, recall_before = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        flagged = [bool(rare) for rare, score in zip(y_rare, scores, strict=True) if score >= threshold]
        recall_now = sum(flagged) / num_rare
        area += (recall_now - recall_before) * sum(flagged) / len(flagged)
        recall_before = recall_now
    return area


def roc_auc(y_rare, scores):
    rare = [score for label, score in zip(y_rare, scores, strict=True) if label]
    other = [score for label, score in zip(y_rare, scores, strict=True) if not label]
    if not rare or not other:
        return math.nan
    wins = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in rare for b in other)
    return wins / (len(rare) * len(other))


def recall_at_budget(y_rare, scores, budget, num_orders=4000):
    """Mean over random orders of tied nodes: a simulation, so compare loosely."""
    if not sum(y_rare):
        return math.nan
    generator = np.random.default_rng(0)
    y_rare, scores = np.asarray(y_rare, dtype=float), np.asarray(scores)
    total = 0.0
    for _ in range(num_orders):
        order = np.lexsort([generator.random(len(scores)), -scores])
        total += y_rare[order[:budget]].sum()
    return total / num_orders / y_rare.sum()


def smooth_ece_at(y, scores, width, num_points=401):
    """∫ |mean (s − y) K(s, t)| dt with the Gaussian mirrored at 0 and 1, straight from its definition."""
    mesh = np.linspace(0, 1, num_points)
    smoothed = np.zeros(num_points)
    for label, score in zip(y, scores, strict=True):
        # 20 mirror images are plenty: a Gaussian of width one has faded long before.
        for image in range(-10, 11):
            for centre in (2 * image + score, 2 * image - score):
                bump = np.exp(-((mesh - centre) ** 2) / (2 * width**2)) / (width * math.sqrt(2 * math.pi))
                smoothed += (score - float(label)) * bump / len(scores)
    return float(trapezoid(np.abs(smoothed), mesh))
