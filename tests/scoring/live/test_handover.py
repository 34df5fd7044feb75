"""What another process takes over answers as the one that made it."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from growth import split

import calirare as cr
from calirare.scoring.live.handover import hand_over, take_over
from calirare.scoring.live.scores import LiveScores

pytestmark = pytest.mark.usefixtures("quick_networks_here")


@pytest.mark.parametrize(
    ("detector", "options"),
    [
        ("linear", {"weight": "amount", "edge_type": "channel"}),
        (cr.detectors.GCN(epochs=5, hidden=4, weight_decay=5e-3), {}),  # reads no columns, so that no recipe is kept
        ("spreading", {}),
        ("surroundings", {}),
    ],
    ids=["linear", "gcn", "spreading", "surroundings"],
)
def test_the_answers_are_the_same_bytes(detector, options, tmp_path):
    before, since = split(cr.make_transactions(120, rare_share=0.2, labelled_share=0.5, seed=3), num_new=4)
    graph = cr.read_tables(*before, label="is_fraud", rare="yes", **options)
    classifier = cr.RareCategoryClassifier(detector, device="cpu").fit(graph)
    for _, edges in (before, since):  # later than the fit, so that times count from another start
        edges["time"] = [time + np.timedelta64(420, "D") for time in edges["time"]]
    graph = cr.read_tables(*before, schema=graph.schema)
    made = LiveScores(classifier, graph, coverage=0.8)
    folder = tmp_path / "scratch"
    folder.mkdir()
    made.score(*since)  # what was asked before does not matter
    hand_over(made, folder)
    taken = take_over(folder)
    shutil.rmtree(folder)  # the map is all it needs
    known = graph.ids[:3].tolist()
    assert taken.verdicts.coverage == 0.8 and taken.graph.schema == graph.schema
    for ask in (lambda live: live.table, lambda live: live.score(*since, also=known)):
        mine, theirs = ask(made), ask(taken)
        assert list(mine) == list(theirs)
        for name, values in mine.items():
            assert values.tolist() == theirs[name].tolist(), name
    why, told = made.explain(known[0]), taken.explain(known[0])
    assert np.array_equal(why.share, told.share) and why.column.tolist() == told.column.tolist()


def test_no_other_classes_are_made(tmp_path):
    graph = cr.make_transactions(60, rare_share=0.3, labelled_share=0.9, seed=1)
    hand_over(LiveScores(cr.RareCategoryClassifier("linear").fit(graph), graph), tmp_path)
    contents = tmp_path / "contents.json"
    contents.write_text(json.dumps({"Popen": {"dict": []}}))
    with pytest.raises(KeyError, match="Popen"):
        take_over(tmp_path)
