// Cells of the queue. React escapes the text it is given.
(function () {
  "use strict";

  const { caseHref, send } = window.desk;
  const cells = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
  const element = (...args) => window.React.createElement(...args);

  function follow(event) {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
      event.preventDefault();
    } else {
      event.stopPropagation();
    }
  }

  function percent(x) {
    return (100 * Math.min(Math.max(x, 0), 1)).toFixed(2) + "%";
  }

  cells.NodeLink = function (props) {
    if (!props.data) {
      return element("span", { className: "loading-cell" }, "…");
    }
    return element("a", { href: caseHref(props.value), className: "node-link", title: props.value, onClick: follow }, props.value);
  };

  // In blind mode the score of an undecided case is not given.
  function isThere(props) {
    return Boolean(props.data) && props.value !== null && props.value !== undefined;
  }

  cells.Plain = function (props) {
    return isThere(props) ? element("span", { title: String(props.value) }, String(props.value)) : null;
  };

  // As calirare.decisions.numbers says them.
  function sayProbability(p) {
    if (p < 1e-4 || p > 1 - 1e-4) {
      return p < 0.5 ? "<0.0001" : ">0.9999";
    }
    return p.toFixed(p >= 1e-3 && p <= 1 - 1e-3 ? 3 : 4);
  }

  cells.Probability = function (props) {
    if (!isThere(props)) {
      return null;
    }
    return element(
      "div",
      { className: "probability-cell" },
      element("div", { className: "probability-track" }, element("div", { className: "probability-bar " + props.data.action, style: { width: percent(props.value) } })),
      element("span", null, sayProbability(props.value))
    );
  };

  cells.IntervalBar = function (props) {
    if (!isThere(props)) {
      return null;
    }
    const row = props.data;
    return element(
      "div",
      { className: "interval-cell", title: "90% interval " + row.lower.toFixed(3) + " to " + row.upper.toFixed(3) },
      element(
        "div",
        { className: "mini-track" },
        element("div", { className: "mini-range", style: { left: percent(row.lower), width: percent(row.upper - row.lower) } }),
        element("div", { className: "mini-dot", style: { left: percent(row.probability) } })
      ),
      element("span", null, row.lower.toFixed(3) + "–" + row.upper.toFixed(3))
    );
  };

  // Where there is no room for the decisions, a decided case shows its decision in place of the action.
  cells.Pill = function (props) {
    const decided = isThere(props) && props.data.decision !== "open" && !props.api.getColumn("decision").isVisible();
    if (decided) {
      return element("span", { className: "pill pill-" + props.data.decision, title: "decided by " + props.data.reviewer }, "✓ " + props.data.decision);
    }
    return isThere(props) ? element("span", { className: "pill pill-" + props.value }, props.value) : null;
  };

  cells.Amount = function (props) {
    return isThere(props) ? element("span", { className: "number", title: props.data.costs }, props.value.toFixed(2)) : null;
  };

  // Reasons are asked for by the rows on screen, together, and kept until prices or model change.

  const reasons = { of: "", known: new Map(), waiting: new Map(), timer: null };

  window.desk.setReasonsOf = function (mark) {
    if (mark !== reasons.of) {
      reasons.of = mark;
      reasons.known.clear();
    }
  };

  async function fetchReasons() {
    const asked = reasons.waiting;
    reasons.waiting = new Map();
    reasons.timer = null;
    const mark = reasons.of;
    const result = await send("/api/reasons", { nodes: Array.from(asked.keys()) });
    if (mark !== reasons.of) {
      asked.forEach((places, id) => places.forEach((place) => showReason(place, id))); // of other prices by now
      return;
    }
    asked.forEach((places, id) => {
      const words = (result.data.reasons || {})[id];
      if (words !== undefined) {
        reasons.known.set(id, words);
        places.forEach((place) => writeReason(place, words));
      }
    });
  }

  function writeReason(place, words) {
    place.textContent = words; // as text: it may hold anything
    place.title = words;
  }

  function showReason(place, id) {
    if (reasons.known.has(id)) {
      writeReason(place, reasons.known.get(id));
      return;
    }
    reasons.waiting.set(id, (reasons.waiting.get(id) || []).concat([place]));
    reasons.timer = reasons.timer || window.setTimeout(fetchReasons, 30);
  }

  cells.Reason = function (props) {
    const id = props.data && props.data.id;
    return id === undefined || props.data.action === null
      ? null
      : element("div", { className: "reason-cell", key: id, ref: (place) => place && showReason(place, id) });
  };

  cells.DecisionCell = function (props) {
    if (!isThere(props)) {
      return null;
    }
    const second = props.data.second ? element("span", { className: "pill pill-unsure", title: "a second opinion is wanted" }, "2nd") : null;
    if (props.value === "open") {
      return second;
    }
    return element("span", { title: "by " + props.data.reviewer }, element("span", { className: "pill pill-" + props.value }, props.value), element("span", { className: "by" }, props.data.reviewer), second);
  };
})();
