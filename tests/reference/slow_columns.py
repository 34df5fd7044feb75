"""Columns of nodes by plain loops over the edges, one node at a time."""

import math
from datetime import UTC, datetime

import numpy as np

NAN = float("nan")


def slow_edge_columns(table, plan, num_nodes):
    """By name, the values of every node; NaN where a node has nothing to say."""
    result = {}
    for type_name in ("", *plan.types):
        rows = [
            k for k in range(len(table)) if not type_name or table.type_names[int(table.type[k])] == type_name
        ]  # fmt: skip
        suffix = f" ({type_name})" if type_name else ""
        for node in range(num_nodes):
            for name, value in _node(table, plan, rows, node).items():
                if type_name and plan.brief and not name.startswith(("number", "distinct")) and not _sum_or_mean(name):
                    continue
                if type_name and any(what in name for what in (" pairs of ", "outgoing share of the sum")):
                    continue
                result.setdefault(name + suffix, []).append(value)
    for node in range(num_nodes):
        for name, value in (_by_category(table, plan, node) | _rhythm(table, plan, node)).items():
            result.setdefault(name, []).append(value)
    return {name: np.array(values, dtype=float) for name, values in result.items()}


def _by_category(table, plan, node):
    """Distinct neighbours by each of the eight most frequent categories."""
    rows = range(len(table))
    out = [(k, int(table.target[k])) for k in rows if table.source[k] == node != table.target[k]]
    into = [(k, int(table.source[k])) for k in rows if table.target[k] == node != table.source[k]]
    sides = {"outgoing": out, "incoming": into} if plan.directed else {"edges": out + into}
    said, found = {}, {column.name: column for column in table.columns}
    for planned in (one for one in plan.columns if one.kind == "category"):
        column = found[planned.name]
        for which, ends in sides.items():
            named = [(column.categories[column.values[k]], other) for k, other in ends if column.values[k] >= 0]
            for category in planned.categories[:8]:
                met = {other for name, other in named if name == category}
                said[f"distinct neighbours with {planned.name} = {category}, {which}"] = len(met)
    return said


def _rhythm(table, plan, node):
    """Gaps between edges, and what goes out after what came in."""
    out, into = ([k for k, end in enumerate(ends) if end == node] for ends in (table.source, table.target))
    said, found = {}, {column.name: column for column in table.columns}
    for planned in plan.columns:
        if planned.kind != "time":
            continue
        day = 86_400 if planned.in_days else 1
        when = [float(value) / day for value in found[planned.name].values]
        unit = f"{planned.name} in days" if planned.in_days else planned.name
        for which, mine in {"outgoing": out, "incoming": into}.items() if plan.directed else [("edges", out + into)]:
            times = sorted(when[k] for k in mine if not math.isnan(when[k]))
            gaps = [b - a for a, b in zip(times, times[1:], strict=False)]
            said[f"{unit}, least gap of {which}"] = min(gaps, default=NAN)
            mean = _mean(gaps)
            spread = math.sqrt(_mean([(gap - mean) ** 2 for gap in gaps])) if gaps else NAN
            said[f"{planned.name}, unevenness of gaps of {which}"] = spread / mean if len(gaps) > 1 and mean else NAN
        if plan.directed and planned.name == plan.clock:
            said |= _passed_on(table, plan, node, when, unit, 1e-3 if planned.in_days else 1.0)
    return said


def _passed_on(table, plan, node, when, unit, shortest):
    others = [k for k in range(len(table)) if table.source[k] != table.target[k] and not math.isnan(when[k])]
    pairs = []
    for k in (k for k in others if table.target[k] == node):
        later = [j for j in others if table.source[j] == node and when[j] >= when[k]]
        if later:
            moment = min(when[j] for j in later)
            pairs.append((k, [j for j in later if when[j] == moment]))
    logs = [math.log(when[then[0]] - when[k] + shortest) for k, then in pairs]
    said = {f"{unit}, wait of incoming until outgoing": math.exp(_mean(logs)) - shortest if logs else NAN}
    for planned in (one for one in plan.columns if one.kind == "number"):
        values = next(column.values for column in table.columns if column.name == planned.name)
        on_scale = [math.asinh(value / planned.size) for value in values]
        changes = []
        for k, then in pairs:
            known = [on_scale[j] for j in then if not math.isnan(on_scale[j])]
            if known and not math.isnan(on_scale[k]):
                changes.append(abs(_mean(known) - on_scale[k]))
        said[f"{planned.name}, change from incoming to next outgoing"] = _mean(changes)
    return said


def _sum_or_mean(name):
    return name.split(", ")[-1].split(" ")[:2] in (["sum", "of"], ["mean", "of"])


def _node(table, plan, rows, node):
    out = [k for k in rows if table.source[k] == node]
    into = [k for k in rows if table.target[k] == node]
    sides = {"outgoing": out, "incoming": into} if plan.directed else {}
    sides["edges"] = out + into  # a loop counts twice
    to = {int(table.target[k]) for k in out} - {node}
    by = {int(table.source[k]) for k in into} - {node}
    said = {f"number of {which}": len(mine) for which, mine in sides.items()}
    said["distinct neighbours"] = len(to | by)
    if plan.directed:
        said["distinct neighbours, outgoing"], said["distinct neighbours, incoming"] = len(to), len(by)
        for which, known in (("outgoing", to), ("incoming", by), ("all", to | by)):
            said[f"share returned, {which}"] = len(to & by) / len(known) if known else NAN
    if plan.pairs:
        ends = {"outgoing": list(table.target[out]), "incoming": list(table.source[into])}
        ends["edges"] = ends["outgoing"] + ends["incoming"]
        said |= {f"neighbour, equal pairs of {which}": _mean(_pairs(ends[which])) for which in sides}
    clock = next((column for column in table.columns if column.name == plan.clock), None)
    found = {column.name: column for column in table.columns}
    for planned in plan.columns:
        for which, mine in sides.items():
            said |= _column(planned, found[planned.name], clock, mine, which, plan.directed)
        if planned.balanced and plan.directed:
            gone, came = (
                abs(math.fsum(value for value in found[planned.name].values[mine] if not math.isnan(value)))
                for mine in (out, into)
            )
            said[f"{planned.name}, outgoing share of the sum"] = gone / (gone + came) if gone + came else NAN
    return said


def _column(planned, column, clock, mine, which, directed):
    if planned.kind == "category":
        return _category(planned, column, mine, which)
    known = [k for k in mine if not math.isnan(column.values[k])]
    values = [float(column.values[k]) for k in known]
    said = {}
    if planned.kind == "number":
        name, last = planned.name, NAN
        if clock is not None:
            timed = [k for k in known if not math.isnan(clock.values[k])]
            if timed:
                latest = max(clock.values[k] for k in timed)
                last = _mean([float(column.values[k]) for k in timed if clock.values[k] == latest])
            said[f"{name}, last of {which}"] = last
        said[f"{name}, sum of {which}"] = math.fsum(values)
        if planned.signed:
            low = [value for value in values if value < 0]
            said[f"{name} negative, share of {which}"] = len(low) / len(values) if values else NAN
        for part in planned.categories:
            limit = int(part.split()[-1].replace(",", ""))
            multiple = part.startswith("a multiple of")
            mine_in = [
                abs(value) >= limit and abs(abs(value) / limit - round(abs(value) / limit)) < 1e-9 * abs(value) / limit
                if multiple
                else 0.9 * limit <= abs(value) < limit
                for value in values
            ]
            said[f"{name} {part}, share of {which}"] = _mean(mine_in)
        if planned.pairs:
            said[f"{name}, equal pairs of {which}"] = _mean(_pairs(values))
        low, high = "least", "greatest"
    else:
        name, low, high = f"{planned.name} in days" if planned.in_days else planned.name, "first", "last"
        moments = [datetime.fromtimestamp(value, UTC) for value in values if planned.in_days]
        for part in planned.categories:
            mine_in = [_in_part(moment, part) for moment in moments]
            said[f"{planned.name} = {part}, share of {which}"] = _mean(mine_in)
        values = [(value - planned.origin) / (86_400 if planned.in_days else 1) for value in values]
        said[f"{name}, span of {which}"] = max(values) - min(values) if values else NAN
        said[f"{name}, mean gap of {which}"] = (
            (max(values) - min(values)) / (len(values) - 1) if len(values) > 1 else NAN
        )
    mean = _mean(values)
    said[f"{name}, mean of {which}"] = mean
    spread = math.sqrt(_mean([(value - mean) ** 2 for value in values])) if values else NAN
    said[f"{name}, spread of {which}"] = spread
    if planned.kind == "number" and which != ("edges" if directed else ""):
        said[f"{name}, relative spread of {which}"] = spread / abs(mean) if values and mean else NAN
    said[f"{name}, {low} of {which}"] = min(values, default=NAN)
    said[f"{name}, {high} of {which}"] = max(values, default=NAN)
    if planned.missing:
        said[f"{planned.name} missing, share of {which}"] = 1 - len(known) / len(mine) if mine else NAN
    return said


def _category(planned, column, mine, which):
    codes = [int(column.values[k]) for k in mine]
    known = [column.categories[code] for code in codes if code >= 0]
    said = {
        f"{planned.name} = {category}, share of {which}": known.count(category) / len(known) if known else NAN
        for category in planned.categories
    }
    if planned.missing:
        said[f"{planned.name} missing, share of {which}"] = codes.count(-1) / len(codes) if codes else NAN
    if planned.pairs:
        told = [name if name in planned.categories else "another" for name in known]
        said[f"{planned.name}, unlike pairs of {which}"] = 1 - _mean(_pairs(told))
    if planned.diverse:
        said[f"{planned.name}, different ones of {which}"] = len(set(known))
    return said


def _in_part(moment, part):
    if part == "weekend":
        return moment.isoweekday() > 5
    if not part.endswith(" h"):
        return f"{moment:%A}" == part
    start, end = (int(word) for word in part.removesuffix(" h").split(" to "))
    return start <= moment.hour < end if start < end else moment.hour >= start or moment.hour < end


def _pairs(values):
    """Of each pair, whether both are equal."""
    return [one == other for k, one in enumerate(values) for other in values[k + 1 :]]


def _mean(values):
    return math.fsum(values) / len(values) if values else NAN


def slow_propagation(counts, values, middle, statistic):
    """`(N,)` of one column over each node's neighbours and what they count."""

    def mean_of(mine, told):
        return math.fsum(count * told(k) for k, count in mine.items()) / math.fsum(mine.values()) if mine else NAN

    means = [mean_of(mine, lambda k: float(values[k])) for mine in counts]
    if statistic == "mean":
        return np.array(means)
    if statistic == "two steps":
        known = [middle if math.isnan(mean) else mean for mean in means]
        return np.array([mean_of(mine, known.__getitem__) for mine in counts])
    return np.array([
        math.sqrt(mean_of(mine, lambda k, mean=mean: (float(values[k]) - mean) ** 2)) if mine else NAN
        for mine, mean in zip(counts, means, strict=True)
    ])  # fmt: skip
