// What must happen in the browser: moving between pages, keys, and sending decisions so that none is lost or doubled.
(function () {
  "use strict";

  const PAGES = { "/": "queue", "/case": "case", "/reliability": "reliability", "/model": "model" };
  const NAV = ["queue", "reliability", "model"];
  const PRICES = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 500, 700, 1000];
  const SETTLE_MILLISECONDS = 70;
  const TRIES = 3;
  let controlsTurn = 0;
  let busy = false;

  function noUpdate() {
    return window.dash_clientside.no_update;
  }

  function go(href) {
    window.history.pushState({}, "", href);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
    window.scrollTo(0, 0);
  }

  function caseHref(id) {
    return "/case?id=" + encodeURIComponent(id);
  }

  function stored(name) {
    try {
      return JSON.parse(window.sessionStorage.getItem(name)) || {};
    } catch (error) {
      return {};
    }
  }

  function say(text, kind) {
    let box = document.getElementById("toasts");
    if (!box) {
      box = document.createElement("div");
      box.id = "toasts";
      box.setAttribute("role", "status");
      box.setAttribute("aria-live", "polite");
      document.body.appendChild(box);
    }
    const toast = document.createElement("div");
    toast.className = "toast " + (kind || "");
    toast.textContent = text; // as text: it may hold anything
    box.replaceChildren(toast);
    window.setTimeout(() => toast.remove(), kind === "bad" ? 8000 : 3500);
  }

  function wait(milliseconds) {
    return new Promise((resolve) => window.setTimeout(resolve, milliseconds));
  }

  function randomKey() {
    const bytes = window.crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  // The same key goes with every try, so an answer that got lost cannot make a second decision.
  async function send(path, body) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const answer = await window.fetch(path, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          credentials: "same-origin",
          body: JSON.stringify(body),
        });
        if (answer.status === 401) {
          window.location.assign("/login");
        }
        const data = await answer.json();
        if (answer.status < 500 || attempt === TRIES) {
          return { status: answer.status, data: data };
        }
      } catch (error) {
        if (attempt === TRIES) {
          return { status: 0, data: { ok: false, error: "The desk does not answer; nothing was stored as far as we know. Try again." } };
        }
      }
      await wait(400 * attempt);
    }
  }

  function isShown(seen) {
    const wanted = new URLSearchParams(window.location.search).get("id");
    const title = document.getElementById("case-id");
    return Boolean(seen && window.location.pathname === "/case" && seen.id === wanted && title && title.textContent === wanted);
  }

  function report(result, node, words) {
    const good = result.data.ok === true;
    if (good) {
      say(words, "good");
    } else if (result.status !== 409) {
      say(result.data.error || "Nothing was stored.", "bad");
    } else {
      say("Not stored: someone else was faster.", "bad");
    }
    return { node: node, conflict: result.status === 409, error: good ? "" : result.data.error, turn: Date.now() };
  }

  async function decide(choice, seen, note, stack, advance) {
    // Nobody decides a case that is not yet on the page: a quick "j, n" must not hit the case before.
    if (!isShown(seen)) {
      say("The case is still being opened; nothing was decided.", "");
      return [noUpdate(), noUpdate(), noUpdate()];
    }
    const body = { node: seen.id, decision: choice, note: note || "", seen: seen.seen, model: seen.model, key: randomKey() };
    const result = await send("/api/decide", body);
    const acted = report(result, seen.id, "Decided: " + choice + ". Press z to undo.");
    if (!result.data.ok) {
      return [acted, noUpdate(), noUpdate()];
    }
    const next = document.getElementById("next-case");
    if (next && advance && advance.length) {
      window.setTimeout(() => next.click(), 0);
    }
    return [acted, (stack || []).concat([{ id: result.data.decision.id, node: seen.id }]).slice(-200), ""];
  }

  async function undo(stack) {
    const last = (stack || []).slice(-1)[0];
    if (!last) {
      say("There is nothing of yours to undo in this window.", "");
      return [noUpdate(), noUpdate(), noUpdate()];
    }
    const result = await send("/api/undo", { decision: last.id, key: randomKey() });
    const acted = report(result, last.node, "Taken back: the decision on " + last.node + ".");
    const settled = result.status !== 0 && result.status < 500;
    if (result.data.ok && window.location.pathname === "/case") {
      window.setTimeout(() => go(caseHref(last.node)), 0);
    }
    return [acted, settled ? stack.slice(0, -1) : noUpdate(), noUpdate()];
  }

  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    desk: {
      showPage: function (path) {
        const shown = PAGES[path] || "queue";
        const pages = Object.values(PAGES).map((name) => (name === shown ? "page" : "page hidden"));
        const links = NAV.map((name) => "nav-link" + (name === shown || (name === "queue" && shown === "case") ? " here" : ""));
        return pages.concat(links);
      },

      showMessage: function (message) {
        if (message && message.text) {
          say(message.text, message.kind);
        }
        return noUpdate();
      },

      toggleKeys: function (clicks, classes) {
        return classes.includes("hidden") ? "keys" : "keys hidden";
      },

      // All controls of the queue as one object. While a slider is dragged only the last position counts.
      readControls: async function (miss, alarm, review, budget, search) {
        const context = window.dash_clientside.callback_context;
        const trigger = context.triggered_id || "";
        const view = Object.assign({}, stored("view"), {
          miss: PRICES[miss],
          alarm: PRICES[alarm],
          review: PRICES[review],
          budget: budget === undefined || budget === "" ? null : budget,
          search: search || "",
        });
        if (trigger.startsWith("only-")) {
          view.action = trigger === "only-all" ? null : trigger.slice(5);
        } else if (trigger.startsWith("status-")) {
          view.status = trigger === "status-all" ? null : trigger.slice(7);
        }
        const turn = (controlsTurn += 1);
        if (trigger.startsWith("cost-")) {
          await wait(SETTLE_MILLISECONDS);
        }
        const chip = (on) => (on ? "chip on" : "chip");
        const only = [null, "alert", "review", "clear"].map((name) => chip((view.action || null) === name));
        const status = [null, "open", "decided"].map((name) => chip((view.status || null) === name));
        const prices = [view.miss, view.alarm, view.review].map(String);
        return [turn === controlsTurn ? view : noUpdate()].concat(prices, only, status);
      },

      reloadGrid: function (view, stamp) {
        const changed = window.dash_clientside.callback_context.triggered.map((one) => one.prop_id);
        window.dash_ag_grid.getApiAsync("queue-grid").then((api) => {
          if (changed.some((name) => name.startsWith("view"))) {
            if (api.getDisplayedRowCount() > 0) {
              api.ensureIndexVisible(0);
            }
            api.purgeInfiniteCache();
          } else {
            api.refreshInfiniteCache();
          }
        });
        return noUpdate();
      },

      rememberGrid: function (asked, view) {
        const model = asked ? { sort: asked.sortModel, filter: asked.filterModel } : stored("grid-model");
        const query = "?view=" + encodeURIComponent(JSON.stringify(Object.assign({}, view, model)));
        return [model, "/export/queue.csv" + query, "/export/queue.parquet" + query];
      },

      openClicked: function (cell) {
        const link = document.querySelector('#queue-grid [row-index="' + Number(cell && cell.rowIndex) + '"] a');
        if (link) {
          go(link.getAttribute("href"));
        }
        return noUpdate();
      },

      markWaiting: function (search, path, seen) {
        return isShown(seen) ? "card" : "card waiting";
      },

      openTapped: function (data) {
        if (data && data.id !== "0") {
          go(caseHref(data.node));
        }
        return noUpdate();
      },

      act: async function (rare, normal, unsure, undone, seen, note, stack, advance) {
        const trigger = window.dash_clientside.callback_context.triggered_id;
        if (busy || !trigger) {
          return [noUpdate(), noUpdate(), noUpdate()];
        }
        busy = true;
        try {
          return trigger === "undo" ? await undo(stack) : await decide(trigger.slice(7), seen, note, stack, advance);
        } finally {
          busy = false;
        }
      },
    },
  });

  // Keys

  const CLICKS = { z: "undo", "?": "keys-toggle" };
  const CASE_CLICKS = { r: "decide-rare", n: "decide-normal", u: "decide-unsure", j: "next-case", k: "previous-case", q: "to-queue" };

  function isTyping(element) {
    return element && (element.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(element.tagName));
  }

  function focusOn(id, event) {
    const found = document.getElementById(id);
    const field = found && (isTyping(found) ? found : found.querySelector("input, textarea"));
    if (field) {
      event.preventDefault();
      field.focus();
    }
  }

  document.addEventListener("keydown", function (event) {
    const target = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) {
      return;
    }
    if (event.key === "Escape") {
      if (isTyping(target)) {
        target.blur();
      }
      return;
    }
    if (isTyping(target)) {
      return;
    }
    const onCase = window.location.pathname === "/case";
    if (event.key === "Enter" && target.classList && target.classList.contains("ag-cell")) {
      const link = target.parentElement.querySelector("a") || document.querySelector('#queue-grid [row-index="' + target.parentElement.getAttribute("row-index") + '"] a');
      if (link) {
        go(link.getAttribute("href"));
      }
      return;
    }
    if (event.key === "/") {
      if (onCase) {
        go("/");
      }
      focusOn("search", event);
      return;
    }
    if (event.key === "m" && onCase) {
      focusOn("note", event);
      return;
    }
    const id = CLICKS[event.key] || (onCase && CASE_CLICKS[event.key]);
    const button = id && document.getElementById(id);
    if (button) {
      event.preventDefault();
      button.click();
    }
  });

  // Cells of the queue. React escapes the text it is given.

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

  cells.Probability = function (props) {
    if (!props.data) {
      return null;
    }
    return element(
      "div",
      { className: "probability-cell" },
      element("div", { className: "probability-track" }, element("div", { className: "probability-bar " + props.data.action, style: { width: percent(props.value) } })),
      element("span", null, props.value.toFixed(3))
    );
  };

  cells.IntervalBar = function (props) {
    if (!props.data) {
      return null;
    }
    const row = props.data;
    return element(
      "div",
      { className: "interval-cell", title: "90% interval " + row.lower.toFixed(2) + " to " + row.upper.toFixed(2) },
      element(
        "div",
        { className: "mini-track" },
        element("div", { className: "mini-range", style: { left: percent(row.lower), width: percent(row.upper - row.lower) } }),
        element("div", { className: "mini-dot", style: { left: percent(row.probability) } })
      ),
      element("span", null, row.lower.toFixed(2) + "–" + row.upper.toFixed(2))
    );
  };

  cells.Pill = function (props) {
    return props.data ? element("span", { className: "pill pill-" + props.value }, props.value) : null;
  };

  cells.Amount = function (props) {
    return props.data ? element("span", { className: "number" }, props.value.toFixed(2)) : null;
  };

  // The probability and its interval have their own columns; here stands what follows from them.
  cells.Reason = function (props) {
    if (!props.data) {
      return null;
    }
    const why = props.value.slice(props.value.indexOf(": ") + 2);
    return element("div", { className: "reason-cell", title: props.value }, why.charAt(0).toUpperCase() + why.slice(1));
  };

  cells.DecisionCell = function (props) {
    if (!props.data || props.value === "open") {
      return null;
    }
    return element("span", { title: "by " + props.data.reviewer }, element("span", { className: "pill pill-" + props.value }, props.value), element("span", { className: "by" }, props.data.reviewer));
  };
})();
