"""Calibrators written as loops over nodes, straight from their formulas."""

from __future__ import annotations

import math

import numpy as np


def nll(probabilities, y):
    return float(-np.log(probabilities[np.arange(len(y)), y]).mean())


def sample_classes(generator, probabilities):
    """One class per row, drawn with the row's probabilities."""
    draws = generator.random(len(probabilities))[:, None]
    return (draws > probabilities.cumsum(axis=1)[:, :-1]).sum(axis=1)


def isotonic_by_pooling(scores, targets, weights):
    """Fitted values at each score by pooling adjacent violators, equal scores pooled first."""
    blocks = []
    for score in np.unique(scores):
        at = scores == score
        blocks.append([weights[at].sum(), (weights[at] * targets[at]).sum() / weights[at].sum(), {score}])
        while len(blocks) > 1 and blocks[-2][1] >= blocks[-1][1]:
            (w1, v1, s1), (w2, v2, s2) = blocks[-2:]
            blocks[-2:] = [[w1 + w2, (w1 * v1 + w2 * v2) / (w1 + w2), s1 | s2]]
    fitted = {score: value for _, value, members in blocks for score in members}
    return np.array([fitted[score] for score in scores])


def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def gats_temperature(logits, adjacency, train_nodes, projection, slope, offset, factors):
    """T of every node of a dense adjacency, one node, one neighbour, one head at a time."""
    size, heads = len(logits), projection.shape[1]
    neighbours = [[u for u in range(size) if u == v or adjacency[v, u] != 0] for v in range(size)]
    confidence = [max(np.exp(z - z.max()) / np.exp(z - z.max()).sum()) for z in logits]
    gamma = []
    for v in range(size):
        touches = any(u in train_nodes for u in neighbours[v])
        gamma.append(factors[0] if v in train_nodes else factors[1] if touches else 1.0)
    tau = []
    for z in logits:
        normalised = [(value - min(z)) / (max(z) - min(z)) for value in sorted(z)]
        tau.append([sum(normalised[c] * projection[c, h] for c in range(len(z))) for h in range(heads)])
    result = []
    for v in range(size):
        products = [float((logits[v] / gamma[v]) @ (logits[u] / gamma[u])) for u in neighbours[v]]
        scores = [value if value > 0 else 0.2 * value for value in products]
        attention = [math.exp(score - max(scores)) for score in scores]
        attention = [value / sum(attention) for value in attention]
        lead = sum(confidence[v] - confidence[u] for u in neighbours[v]) / len(neighbours[v])
        total = 0.0
        for h in range(heads):
            seen = sum(a * gamma[u] * tau[u][h] for a, u in zip(attention, neighbours[v], strict=True))
            total += softplus(slope * lead + seen)
        result.append(offset + total / heads)
    return np.array(result)


def shift_prior(p, old_share, new_share):
    """P(rare) where rare nodes have another share, by Bayes' rule with the two likelihoods that p stands for."""
    rare, other = p / old_share * new_share, (1 - p) / (1 - old_share) * (1 - new_share)
    return rare / (rare + other)
