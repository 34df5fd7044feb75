"""The audit finds what was planted, and nothing where nothing was."""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import calirare as cr
from calirare.data.edge_rows import edges_as_columns
from calirare.data.graph import RareGraph
from calirare.data.synthetic import make_transactions
from calirare.data.tables.audit import _auc, audit_graph, audit_tables, find_leaks
from calirare.data.tables.files import nodes_as_columns
from calirare.data.tables.reading import read_tables
from calirare.evaluation.graph_value import audit_with_graph, graph_value
from calirare.metrics.scoring import label_losses

DATA = Path(os.environ.get("CALIRARE_DATA") or Path(__file__).parents[3].parent / "shared" / "data")
N = 400
EDGES = {"source": [0, 1], "target": [1, 2]}


def table(**columns):
    rng = np.random.default_rng(0)
    y = np.arange(N) % 10 == 0
    plain = {"id": np.arange(N), "x": rng.normal(size=N), "town": rng.choice(["a", "b", "c"], N), "y": y.astype(int)}
    return {**plain, **{name: column(rng, y) if callable(column) else column for name, column in columns.items()}}


def audit(edges=EDGES, **columns):
    return audit_tables(table(**columns), edges, label="y", rare=1)


def but_for_labels(found):
    return [finding for finding in found.findings if finding.kind != "labels"]


def test_nothing_planted_nothing_found_but_how_many_labels_there_are():
    (found,) = audit().findings
    # 98 / √40: half of a 95% interval of a share near one half, in points; 1 - 1/41: the conformal limit.
    assert found.words == (
        "40 labels are '1'. They tell the recall of a model to ± 15 points at most, and allow sets of up to 97.6% coverage."
    )


def test_categories_that_are_one_but_for_case_are_named():
    kinds = np.array(["Privat", "privat ", "Firma"])[np.arange(N) % 3]
    edges = {"source": [0, 1, 2], "target": [1, 2, 3], "by": ["card", "Card", "wire"]}
    found = {one.column: one.words for one in audit(edges, kind=kinds).findings if one.kind == "spellings"}
    assert list(found) == ["kind", "by"] and found["by"].startswith("'card' and 'Card' are read as different")


def test_whole_numbers_that_are_called_as_codes_are_get_the_way_out():
    rng = np.random.default_rng(0)
    ends = {"source": rng.integers(0, N, 600), "target": rng.integers(0, N, 600)}
    edges = {
        **ends,
        "dst port": rng.choice([22, 80, 443, 3389], 600),
        "src_port": 32_768 + np.arange(600) // 2,
        "bytes": rng.choice([22, 80, 443, 3389], 600),
        "status": rng.integers(0, 2, 600),
        "channel": rng.random(600).round(2),
    }
    found = audit(edges, branch=rng.choice([10_115, 80_331, 20_095], N), visits=rng.choice([1, 2, 5, 9], N))
    codes = {one.column: one.words for one in found.findings if one.kind == "codes"}
    assert list(codes) == ["branch", "dst port", "src_port"]
    way_out = "If they are codes: --type branch=categorical."
    assert codes["branch"] == f"3 different whole numbers, read as quantities. {way_out}"
    assert "--type 'dst port=categorical'" in codes["dst port"] and "--type src_port=ignore, or" in codes["src_port"]
    told = audit_tables(
        table(branch=rng.choice([10_115, 80_331], N)), edges, label="y", rare=1, types={"dst port": "categorical"}
    )
    assert [one.column for one in told.findings if one.kind == "codes"] == ["src_port"]


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (lambda rng, y: np.where(y, rng.integers(1, 90, N), -1), "other than -1 for 40 labelled nodes, 40 of them rare"),
        (lambda rng, y: [f"2024-01-{k % 28 + 1:02d}" if rare else None for k, rare in enumerate(y)], "filled for 40"),
        (lambda rng, y: ["chargeback" if rare else None for rare in y], "filled for 40"),
        (lambda rng, y: np.where(y, "case closed", "none yet"), "other than 'none yet'"),
        (lambda rng, y: y + 0.1 * rng.normal(size=N), "ROC-AUC 1.000"),
        (lambda rng, y: -5.0 * y + rng.normal(size=N), "it alone tells the classes apart"),
    ],
)  # fmt: skip
def test_columns_that_give_the_label_away(column, says):
    found = audit(later=column)
    assert [finding.column for finding in found.leaks] == ["later"]
    assert says in found.leaks[0].words and "--type later=ignore" in found.leaks[0].words
    assert found.to_json()[0]["severity"] == "leak"


def test_good_columns_are_no_leaks():
    strong = audit(score=lambda rng, y: 1.5 * y + rng.normal(size=N))
    often_missing = audit(phone=lambda rng, y: [1.5 * k if rng.random() < 0.1 else None for k in range(N)])
    flag = audit(vip=lambda rng, y: (rng.random(N) < 0.05).astype(int))
    assert not strong.leaks and not often_missing.leaks and not flag.leaks


def test_a_column_that_is_filled_only_where_the_label_is_known():
    labels = np.array([None] * N, dtype=object)
    labels[: N // 5] = np.arange(N // 5) % 10 == 0
    investigated = [float(k % 7) if k < N // 5 else None for k in range(N)]
    nodes = {**table(), "y": [None if label is None else int(label) for label in labels], "hours": investigated}
    found = audit_tables(nodes, EDGES, label="y", rare=1)
    assert [finding.column for finding in found.leaks] == ["hours"] and "known only where the label is" in found.leaks[
        0
    ].words


def test_a_label_that_says_pending_is_no_reason_to_trust_what_was_filled_with_it():
    rng = np.random.default_rng(0)
    labels = np.full(N, None, dtype=object)
    labels[: N // 5] = np.where(np.arange(N // 5) % 10 == 0, "fraud", "ok")
    labels[10 : N // 5 : 15] = "pending"
    reviewer = [rng.choice(["ann", "bo"]) if label else None for label in labels]
    filled_anyhow = ["x" if rng.random() < 0.4 else None for _ in labels]
    nodes = {**table(), "y": labels, "reviewer": reviewer, "hint": filled_anyhow}
    found = audit_tables(nodes, EDGES, label="y", rare="fraud").leaks
    assert [finding.column for finding in found] == ["reviewer"] and "--type reviewer=ignore" in found[0].words
    nodes["y"] = [label or "unknown" for label in labels]  # a word for every label that nobody gave tells nothing
    assert not audit_tables(nodes, EDGES, label="y", rare="fraud").leaks


def test_marks_that_few_have_give_the_label_away_beside_the_same_for_others():
    """One in ten was looked at, and got a 1 where the node is rare, else a 0."""
    rng = np.random.default_rng(1)
    y = np.arange(N) % 25 == 0
    looked = (rng.random(N) < 0.1) | (y & (rng.random(N) < 0.6))
    found = audit_tables(
        {**table(), "y": y.astype(int), "case": [float(r) if k else None for k, r in zip(looked, y, strict=True)]},
        EDGES, label="y", rare=1,
    )  # fmt: skip
    assert [one.column for one in found.leaks] == ["case"] and "other than 0 for" in found.leaks[0].words
    source, target = rng.integers(0, N, (2, 3_000))
    seen = rng.random(3_000) < 0.2
    flag = [str(int(y[node])) if one else None for node, one in zip(source, seen, strict=True)]
    edges = {"source": source, "target": target, "is_scam": flag}
    (leak,) = audit_tables({**table(), "y": y.astype(int)}, edges, label="y", rare=1).leaks
    assert leak.column == "is_scam" and leak.words.startswith("edges where it is other than 0 start at")
    fair = [str(int(rng.random() < 0.1)) if one else None for one in seen]
    assert not audit_tables({**table(), "y": y.astype(int)}, {**edges, "is_scam": fair}, label="y", rare=1).leaks


def test_what_is_advised_can_be_pasted_into_a_shell():
    found = audit(**{"closed on": lambda rng, y: [1.0 if one else None for one in y]})
    assert "(--type 'closed on=ignore')" in found.leaks[0].words


@pytest.mark.refits
def test_a_leak_does_not_hide_what_the_edges_are_worth():
    graph = make_transactions(200, labelled_share=0.6, rare_share=0.2, seed=0)
    nodes, edges = nodes_as_columns(graph), edges_as_columns(graph)
    without = graph_value(read_tables(nodes, edges, label="is_fraud", rare="yes"))
    nodes["closed"] = [1.0 if y == graph.rare_class else None for y in graph.y]
    found = audit_with_graph(read_tables(nodes, edges, label="is_fraud", rare="yes"))
    said = next(finding.words for finding in found.findings if finding.kind == "graph")
    assert [finding.column for finding in found.leaks] == ["closed"]
    assert said == f"without 'closed', which would hide it, {without.words}"


def test_columns_that_say_nothing_new():
    found = audit(
        same=[3.0] * N, nearly=[1.0] + [0.0] * (N * 1000 // 1000 - 1), cents=lambda rng, y: np.arange(N) % 50 * 100.0,
        euros=lambda rng, y: np.arange(N) % 50 * 1.0,
    )  # fmt: skip
    kinds = {finding.column: finding.kind for finding in but_for_labels(found)}
    assert kinds == {"same": "constant", "euros": "duplicate"}
    assert all(finding.severity == "note" for finding in found.findings)


def test_ids_that_were_forced_to_be_attributes():
    graph = read_tables(table(case_nr=np.arange(N) * 17), EDGES, label="y", rare=1, types={"case_nr": "numeric"})
    (found,) = but_for_labels(audit_graph(graph))
    assert (found.kind, found.column, found.severity) == ("identifier", "case_nr", "warning")


def test_labels_that_contradict_each_other():
    nodes = table()
    nodes["x"][200:210], nodes["town"][200:210] = nodes["x"][:10], nodes["town"][:10]
    nodes["y"][:10], nodes["y"][200:210] = 1, 0
    found = audit_tables(nodes, EDGES, label="y", rare=1)
    assert ["20 of 400 labelled nodes" in f.words for f in found.findings if f.kind == "contradiction"] == [True]


def test_a_class_that_may_say_that_nobody_has_decided_is_asked_about():
    nodes = table(y=["staged", "genuine", "Open", "genuine", "genuine"] * (N // 5))
    found = audit_tables(nodes, EDGES, label="y", rare="staged").findings
    assert [f"{N // 5} labels are 'Open', which count as not 'staged'" in one.words for one in found].count(True) == 1
    nodes["y"] = ["staged", "echt", "Offen", "echt?", "echt"] * (N // 5)
    found = audit_tables(nodes, EDGES, label="y", rare="staged").findings
    assert [one.words.split(",")[0] for one in found if "count as not" in one.words] == [
        f"{N // 5} labels are 'Offen'",
        f"{N // 5} labels are 'echt?'",
    ]
    nodes["y"] = ["staged", "ok", "triage pending", "Prüfung läuft", "no concern"] * (N // 5)
    found = audit_tables(nodes, EDGES, label="y", rare="staged").findings
    assert sorted(one.words.split("'")[1] for one in found if "count as not" in one.words) == [
        "Prüfung läuft",
        "triage pending",
    ]
    nodes["y"] = ["staged", "open"] * (N // 2)
    assert not any("count as not" in one.words for one in audit_tables(nodes, EDGES, label="y", rare="staged").findings)


def test_twins_by_chance_are_no_contradiction():
    """Of 400 cards with five products, twelve towns and ages of whole years some are alike, and some of these at odds."""
    rng = np.random.default_rng(3)
    cards = {"id": np.arange(N), "y": (np.arange(N) % 4 == 0).astype(int), "age": rng.integers(18, 90, N)}
    cards |= {"product": rng.choice(list("abcde"), N), "town": rng.choice(list("abcdefghijkl"), N)}
    graph = read_tables(cards, EDGES, label="y", rare=1)
    rows, count = np.unique(np.c_[graph.x], axis=0, return_counts=True)
    assert len(rows) > 0.9 * N and (count > 1).any()
    assert "contradiction" not in {finding.kind for finding in audit_graph(graph).findings}
    for name in ("age", "product", "town"):  # of twenty more twins than chance brings, one of each pair is rare
        cards[name][1:80:4] = cards[name][0:80:4]
    found = audit_tables(cards, EDGES, label="y", rare=1).findings
    assert "contradiction" in {finding.kind for finding in found}


@pytest.mark.parametrize(
    ("count", "severity"), [(3, "warning"), (9, "warning"), (10, "note"), (29, "note"), (30, "note")]
)
def test_few_rare_labels_are_said_loudly(count, severity):
    nodes = table()
    nodes["y"] = (np.arange(N) < count).astype(int)
    found = [finding for finding in audit_tables(nodes, EDGES, label="y", rare=1).findings if finding.kind == "labels"]
    assert [finding.severity for finding in found] == [severity]
    assert count != 3 or found[0].words.startswith("ONLY 3 LABELS ARE '1'")
    assert ("will be uncertain" in found[0].words) == (10 <= count < 30)


@pytest.mark.parametrize(("count", "asks"), [(N // 2, False), (N // 2 + 1, True)])
def test_a_rare_class_that_most_labels_have_is_asked_about(count, asks):
    nodes = table()
    nodes["y"] = (np.arange(N) < count).astype(int)
    found = [one.words for one in audit_tables(nodes, EDGES, label="y", rare=1).findings if one.kind == "labels"]
    assert any(words.startswith(f"Most labels, {count} of {N}, are '1'.") for words in found) == asks


def payments(**columns):
    """Everybody pays ten others; every tenth, who is rare, is marked by hand in some column."""
    source = np.repeat(np.arange(N), 10)
    return {"source": source, "target": (source * 7 + np.tile(np.arange(1, 11), N)) % N, **columns}


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (lambda by_rare: by_rare.astype(int), "other than 0 start at 40 labelled nodes, 40 of them rare"),
        (lambda by_rare: np.where(by_rare, "alert", "none"), "other than 'none' start at 40"),
        (lambda by_rare: [f"2024-01-{k % 28 + 1:02d}" if mine else None for k, mine in enumerate(by_rare)], "filled start"),
    ],
)  # fmt: skip
def test_edge_columns_that_give_the_label_away(column, says):
    by_rare = payments()["source"] % 10 == 0
    found = audit(payments(alerted=column(by_rare), amount=np.arange(10 * N) % 97))
    assert [(finding.column, says in finding.words) for finding in found.leaks] == [("alerted", True)]


def test_good_edge_columns_are_no_leaks():
    rng = np.random.default_rng(0)
    by_rare = payments()["source"] % 10 == 0
    fee = np.where(rng.random(10 * N) < 0.02 + 0.2 * by_rare, 3.0, 0.0)  # ten times as often, and by others too
    found = audit(payments(fee=fee, channel=rng.choice(["card", "wire"], 10 * N, p=[0.9, 0.1])))
    assert but_for_labels(found) == []


def test_edge_columns_that_say_nothing_new():
    amount = np.arange(10 * N) % 97
    found = audit(payments(amount=amount, euros=amount * 0.9, fee=[0.0] * (10 * N), kind=["wire"] * (10 * N)))
    said = {finding.column: (finding.kind, finding.severity) for finding in but_for_labels(found)}
    assert said == {"euros": ("duplicate", "note"), "fee": ("constant", "note"), "kind": ("constant", "note")}


def test_two_times_say_the_same_only_where_they_are_equal():
    click = 1.7e9 + np.random.default_rng(0).uniform(0, 3e6, 10 * N).round()
    install = click + np.random.default_rng(1).exponential(600, 10 * N).round()
    found = audit(payments(click_time=click, install_time=install, copied_time=click))
    assert [(one.kind, one.column) for one in but_for_labels(found)] == [("duplicate", "copied_time")]


@pytest.mark.parametrize(("count", "leaks"), [(3, []), (6, ["closed"])])
def test_few_rare_labels_show_a_leak_that_chance_cannot_explain(count, leaks):
    nodes = table(closed=["2024-01-01" if k < count else None for k in range(N)])
    nodes["y"] = (np.arange(N) < count + 2).astype(int)
    assert [finding.column for finding in audit_tables(nodes, EDGES, label="y", rare=1).leaks] == leaks


def test_edges_that_were_exported_twice_are_asked_about():
    edges = {"source": [0, 0, 1, 1], "target": [1, 1, 2, 2], "paid": [5.0, 5.0, 7.0, 8.0], "note": ["a", "a", "b", "b"]}
    assert [one for one in audit(edges).findings if one.kind == "copies"] == []  # without a time rows may well be alike
    edges["when"] = ["2024-01-01 10:00", "2024-01-01 10:00", "2024-01-02 11:00", "2024-01-02 11:00"]
    (found,) = (one for one in audit(edges).findings if one.kind == "copies")
    assert found.words.startswith("1 rows of the edges repeat another in every column")
    edges["receipt"] = ["r1", "r2", "r3", "r4"]  # not read, as every value differs, and yet they are four
    assert [one for one in audit(edges).findings if one.kind == "copies"] == []


def test_an_edge_column_with_the_name_of_the_label():
    found = audit(payments(Y=np.random.default_rng(0).integers(0, 9, 10 * N)))
    assert [(finding.column, finding.severity) for finding in but_for_labels(found)] == [("Y", "warning")]


def test_the_auc_is_scikit_learns():
    rng = np.random.default_rng(1)
    values, rare = rng.integers(0, 5, 200).astype(float), rng.random(200) < 0.3
    assert _auc(values, rare) == pytest.approx(roc_auc_score(rare, values), abs=1e-12)


def test_a_generated_network_is_clean():
    assert audit_graph(make_transactions(2_000, seed=0)).leaks == ()


@pytest.mark.slow
@pytest.mark.datasets
@pytest.mark.skipif(not (DATA / "tables").exists(), reason=f"no tables at {DATA}")
def test_the_leak_of_amlsim_is_found_and_none_in_tolokers():
    folder = DATA / "tables" / "amlsim_fanin"
    found = audit_tables(folder / "nodes.csv", folder / "edges.csv", label="isFraud", rare=1)
    assert [finding.column for finding in found.leaks] == ["fraudStep"]
    assert audit_graph(RareGraph.load(DATA / "tolokers.npz")).leaks == ()
    assert audit_graph(RareGraph.load(DATA / "reddit.npz")).leaks == ()
    assert audit_graph(RareGraph.load(DATA / "cora.npz").against_rest()).leaks == ()


def test_categories_without_a_label_are_named():
    size = 600
    nodes = {
        "id": list(range(size)),
        "kind": ["doctor" if k % 5 == 0 else "patient" for k in range(size)],
        "ward": [("A", "B", "C")[k % 3] for k in range(size)],
        "few": ["odd" if k % 100 == 0 else "even" for k in range(size)],
        "ill": [None if k % 5 == 0 or k % 2 else ("yes" if k % 12 == 0 else "no") for k in range(size)],
    }
    edges = {"source": list(range(size - 1)), "target": list(range(1, size))}
    found = [
        one
        for one in audit_tables(nodes, edges, label="ill", rare="yes").findings
        if one.column and one.kind == "labels"
    ]
    assert [(one.column, one.severity) for one in found] == [("kind", "warning")]  # six odd ones may well have no label
    assert "'doctor' (120 nodes)" in found[0].words and "--node-type kind" in found[0].words
    apart = audit_tables(nodes, edges, label="ill", rare="yes", node_type="kind").findings
    assert not [one for one in apart if one.column and one.kind == "labels"]


@pytest.mark.refits
def test_edges_that_join_like_with_like_help_where_no_column_tells():
    """Nothing but the labels around a node tells; a logistic regression does not read those."""
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.15).astype(np.int64)
    source = rng.integers(0, 600, 3_000)
    like = np.array([rng.choice(np.flatnonzero(y == y[node])) for node in source])
    target = np.where(rng.random(3_000) < 0.6, like, rng.integers(0, 600, 3_000))
    known = np.where(rng.random(600) < 0.6, y, -1)
    graph = RareGraph(x=rng.normal(size=(600, 2)), edge_index=np.stack([source, target]), y=known)
    found = graph_value(graph)
    assert found is not None and found.words.startswith("the edges help: ")
    apart = cr.RareCategoryClassifier("linear").fit(replace(graph, edge_index=np.zeros((2, 0), dtype=np.int64)))
    assert found.without_edges == pytest.approx(label_losses(apart.labelled_y_, apart.predict_left_out()).mean())


def test_what_another_kind_of_node_lacks_is_no_leak_and_hides_nothing():
    """Every seller is labelled; the cards, which only the edges name, are many more and have no attributes."""
    rng = np.random.default_rng(0)
    rare = np.arange(300) % 10 == 0
    nodes = {
        "seller": [f"s{k}" for k in range(300)],
        "rating": rng.normal(rare),
        "same": [1.0] * 300,
        "closed": [1.0 if one else None for one in rare],
        "y": rare.astype(int),
    }
    ends = {"seller": np.repeat(nodes["seller"], 4), "card": [f"c{k % 1_100}" for k in range(1_200)]}
    graph = read_tables(nodes, ends, label="y", rare=1)
    assert graph.scored.size == 300 < graph.num_nodes / 4
    found = {(one.kind, one.column) for one in audit_graph(graph).findings if one.column}
    assert found == {("leak", "closed"), ("constant", "same")} and find_leaks(graph) == ("closed",)


def test_nodes_without_columns_are_not_said_to_do_as_well():
    rng = np.random.default_rng(0)
    edges = {"source": rng.integers(0, N, 900), "target": rng.integers(0, N, 900)}
    labels = {"id": np.arange(N), "y": (np.arange(N) % 10 == 0).astype(int)}
    for x, said in (({}, False), ({"x": rng.normal(size=N)}, True)):
        found = graph_value(read_tables(labels | x, edges, label="y", rare=1))
        assert "cannot be shown to help" in found.words and ("own columns may do" in found.words) == said


def test_a_column_that_joins_nodes_may_give_the_label_away():
    """Cases that are opened once a fraud is known, several frauds in each."""
    rng = np.random.default_rng(0)
    size = 1_500
    rare, known = rng.random(size) < 0.3, rng.random(size) < 0.7
    case = [f"case {rng.integers(150)}" if r and k else None for r, k in zip(rare, known, strict=True)]
    label = [("yes" if r else "no") if k else None for r, k in zip(rare, known, strict=True)]
    nodes = {"id": [f"n{k}" for k in range(size)], "x": rng.normal(size=size), "case": case, "bad": label}
    ends = rng.integers(0, size, (2, 2_000))
    edges = {"source": [f"n{k}" for k in ends[0]], "target": [f"n{k}" for k in ends[1]]}
    graph = read_tables(nodes, edges, label="bad", rare="yes", same=["case"])
    audit = audit_with_graph(graph)
    assert [finding.column for finding in audit.leaks] == ["case"] and find_leaks(graph) == ("case",)
    (said,) = (finding.words for finding in audit.findings if finding.kind == "graph")
    assert said.startswith("without 'case', which would hide it") and re.search(r"gain [+-]0\.00", said)
    assert find_leaks(read_tables(nodes, edges, label="bad", rare="yes", types={"case": "ignore"})) == ()
