"""Calibrate a model you already have: a trained PyG module, or nothing but probabilities.

python examples/04_calibrate_your_model.py --out pictures
"""

import argparse
from pathlib import Path

import torch
from sklearn.linear_model import LogisticRegression
from torch_geometric.nn import GCNConv

import calirare as cr
from calirare.calibration import PlattScaling, logits_from_probabilities
from calirare.metrics import negative_log_likelihood

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
parser.add_argument("--nodes", type=int, default=5_000)
parser.add_argument("--epochs", type=int, default=200)
args = parser.parse_args()

WEIGHT_DECAY, CLASS_COSTS = 5e-3, (1.0, 15.0)  # fraud counts fifteen times: good for finding it, bad for P(fraud)


class YourModel(torch.nn.Module):
    """Any module that takes `(x, edge_index)` and returns logits."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.first, self.second = GCNConv(num_features, 16), GCNConv(16, 2)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        hidden = torch.nn.functional.dropout(torch.relu(self.first(x, edge_index)), 0.5, self.training)
        return self.second(hidden, edge_index)


graph = cr.make_transactions(num_nodes=args.nodes, seed=0)
split = cr.split_labels(graph, train_fraction=0.15, val_fraction=0.05, test_fraction=0.8, seed=0)
y = graph.y[split.test]

# Your training loop, untouched.
torch.manual_seed(0)
data, module = graph.to_pyg(), YourModel(graph.num_features)
optimizer = torch.optim.Adam(module.parameters(), lr=0.01, weight_decay=WEIGHT_DECAY)
for _ in range(args.epochs):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(
        module(data.x, data.edge_index)[split.train], data.y[split.train], weight=torch.tensor(CLASS_COSTS)
    )
    loss.backward()
    optimizer.step()
module.eval()
with torch.no_grad():
    as_trained = module(data.x, data.edge_index).softmax(dim=1).numpy()[split.test]

# A module in: calibrated on the labels that trained it, each left out in turn. No label is set aside, no weight changed.
clf = cr.RareCategoryClassifier.from_trained(
    module,
    graph,
    cr.Split(train=split.train),
    class_costs=CLASS_COSTS,
    weight_decay=WEIGHT_DECAY,
    rare_share=float((graph.y[split.labelled] == 1).mean()),
)
calibrated = clf.predict_proba(graph)[split.test]

# Probabilities in: any model at all, here one that sees no edges. This way needs labels that did not train it.
plain = LogisticRegression(class_weight="balanced").fit(graph.x[split.train], graph.y[split.train])
before = plain.predict_proba(graph.x)
platt = PlattScaling().fit(logits_from_probabilities(before[split.val]), graph.y[split.val])
after = platt.predict_proba(logits_from_probabilities(before[split.test]))

found = {
    "PyG, as trained": as_trained,
    "PyG, calibrated": calibrated,
    "logistic, as trained": before[split.test],
    "logistic, calibrated": after,
}
for name, probabilities in found.items():
    print(f"{name:22s} NLL {negative_log_likelihood(y, probabilities):.3f}")
figure = cr.plots.reliability.plot(y, found, groups=["rare"], num_bins=10, class_probability=True)
print(cr.plots.save(figure, args.out / "04_calibrate_your_model", formats=["png"])[0])
