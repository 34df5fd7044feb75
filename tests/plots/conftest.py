import numpy as np
import pytest

from calirare.data.graph import RareGraph


@pytest.fixture
def labels_and_probabilities():
    generator = np.random.default_rng(0)
    p = generator.beta(0.6, 2.0, size=300)
    return (generator.random(300) < p).astype(int), np.column_stack([1 - p, p])


@pytest.fixture
def small_graph():
    generator = np.random.default_rng(1)
    edges = generator.integers(60, size=(2, 150))
    y = generator.choice([-1, 0, 1], p=[0.2, 0.6, 0.2], size=60)
    return RareGraph(x=np.ones((60, 1)), edge_index=edges, y=y, name="small")


@pytest.fixture
def runs():
    generator = np.random.default_rng(2)
    return [
        {
            "dataset": dataset,
            "method": method,
            "labels_per_class": labels,
            "seed": seed,
            "negative_log_likelihood": float(generator.random()),
        }
        for dataset in ("cora", "dblp")
        for method in ("jackknife", "temperature", "uncalibrated")
        for labels in (40, 20)
        for seed in range(4)
    ]


@pytest.fixture
def sensitivity_runs():
    generator = np.random.default_rng(3)
    return [
        {"coverage": coverage, "trade_off": trade_off, "macro_true_class_ace": float(generator.random())}
        for coverage in (0.9, 0.7, 0.8)
        for trade_off in (0.1, 0.4)
        for _ in range(3)
    ]
