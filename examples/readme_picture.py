"""Draw the README's picture: can the probabilities of a generated transaction network be trusted?

Run: python examples/readme_picture.py
"""

from pathlib import Path

import numpy as np

import calirare as cr

graph = cr.make_transactions(num_nodes=20_000, labelled_share=0.1, seed=0)
unseen = np.setdiff1d(np.arange(graph.num_nodes), graph.known)

probabilities = {}
for title, method in (("as trained", "uncalibrated"), ("calibrated", "jackknife")):
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(weight_decay=5e-3), method=method, seed=0).fit(graph)
    probabilities[title] = clf.predict_proba(graph)[unseen]

figure = cr.plots.reliability.plot(
    graph.original_y[unseen], probabilities, groups=["rare"], num_bins=10, class_probability=True
)
(path,) = cr.plots.save(figure, Path(__file__).parents[1] / "docs" / "assets" / "reliability", formats=["png"])
print(path)
