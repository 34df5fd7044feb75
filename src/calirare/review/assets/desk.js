// What must happen in the browser: moving between pages, keys, and sending decisions so that none is lost or doubled.
(function () {
  "use strict";

  const PAGES = {
    "/": "queue",
    "/case": "case",
    "/reliability": "reliability",
    "/monitoring": "monitoring",
    "/model": "model",
  };
  const NAV = ["queue", "reliability", "monitoring", "model"];
  const TRIES = 3;
  const PATIENCE_MILLISECONDS = 20000;
  let busy = false;
  let acts = 0;
  let lastSeen = null;
  let reasonsOf = "";
  let filledFor = "";
  let opened = false;

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

  // A chip that is on says so to eyes and to screen readers.
  function chip(id, on) {
    const button = document.getElementById(id);
    if (button) {
      button.setAttribute("aria-pressed", on ? "true" : "false");
    }
    return on ? "chip on" : "chip";
  }

  function setTick(box, on) {
    if (box) {
      box.setAttribute("aria-checked", on ? "true" : "false");
    }
  }

  function isTicked(box) {
    return Boolean(box) && box.getAttribute("aria-checked") === "true";
  }

  // A box was clicked: its store gets the new value, and what reads the store does the rest.
  function toggleTick(box) {
    const on = !isTicked(box);
    setTick(box, on);
    if (box.dataset.column !== undefined) {
      const ticked = Array.from(document.querySelectorAll("[data-column]")).filter(isTicked);
      window.dash_clientside.set_props("columns", { data: ticked.map((one) => one.dataset.column) });
    } else {
      window.dash_clientside.set_props(box.id.replace("-tick", ""), { data: on });
    }
  }

  function nearestStop(price, stops) {
    const distances = stops.map((stop) => Math.abs(Math.log(stop) - Math.log(Math.max(price, 1e-9))));
    return distances.indexOf(Math.min(...distances));
  }

  // What a person has just changed, as settings; null where it is what is set already.
  function wantedSettings(trigger, given, settings, stops) {
    const [kind, name] = trigger.split("-");
    if (kind === "price") {
      const typed = String(given[name] === null || given[name] === undefined ? "" : given[name]).trim();
      return typed === "" || typed === String(settings[name]) ? null : { [name]: typed };
    }
    if (kind === "cost") {
      const price = stops[Number(given[name + "At"])];
      const shown = typeof settings[name] === "number" ? nearestStop(settings[name], stops) : -1;
      return price === undefined || stops[shown] === price ? null : { [name]: price };
    }
    if (kind === "order") {
      return name === settings.order ? null : { order: name };
    }
    if (kind === "budget") {
      const budget = given.budget === undefined || given.budget === "" ? null : given.budget;
      return budget === settings.budget ? null : { budget: budget };
    }
    if (kind === "blind") {
      return given.blind === settings.blind || typeof given.blind !== "boolean" ? null : { blind: given.blind };
    }
    const columns = given.columns || settings.columns;
    return columns.join("\n") === settings.columns.join("\n") ? null : { columns: columns };
  }

  function setHidden(id, hidden) {
    const found = document.getElementById(id);
    if (found) {
      found.classList.toggle("hidden", hidden);
    }
  }

  function showFilters(settings) {
    const words = settings.filters_said || "";
    const place = document.getElementById("filters-said");
    if (place) {
      place.textContent = words ? "Everybody's queue: " + words + "." : "";
    }
    setHidden("filters-drop", !words);
  }

  // Whether a person is at this field or slider: what comes from the desk must not take away what they do there.
  function isAt(id) {
    const field = document.getElementById(id);
    return Boolean(field) && field.contains(document.activeElement);
  }

  function shownSettings(settings, stops, trigger) {
    const names = ["miss", "alarm", "review"];
    const prices = names.map((name) => settings[name]);
    const kept = (id) => isAt(id) && trigger !== id;
    const places = prices.map((price, k) => (typeof price === "number" && !isAt("cost-" + names[k]) ? nearestStop(price, stops) : noUpdate()));
    const words = prices.map((price, k) => (kept("price-" + names[k]) ? noUpdate() : String(price)));
    const orders = ["value", "doubt", "probability", "urgency"].map((name) => chip("order-" + name, settings.order === name));
    setTick(document.getElementById("blind-tick"), settings.blind);
    // A price that is a column has no place on a slider.
    ["miss", "alarm", "review"].forEach((name) => {
      const row = document.getElementById("price-" + name).closest(".slider-row");
      row.classList.toggle("by-column", typeof settings[name] !== "number");
    });
    document.querySelectorAll("[data-column]").forEach((box) => setTick(box, settings.columns.includes(box.dataset.column)));
    showFilters(settings);
    return words.concat(places, [kept("budget") ? noUpdate() : settings.budget, settings.blind, settings.columns], orders, [settings.said]);
  }

  // What the header counts hangs on prices and filters: ask now, not at the next turn of the clock.
  function pollNow() {
    window.dash_clientside.set_props("poll", { n_intervals: Date.now() });
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
    if (next && advance === true) {
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
    if (last.ids) {
      const many = await send("/api/undo-many", { decisions: last.ids, key: randomKey() });
      const late = many.data.refused ? " " + many.data.refused + " stay, as others decided after them." : "";
      const gone = many.status !== 0 && many.status < 500;
      return [report(many, "", "Taken back: " + (many.data.decisions || []).length + " decisions." + late), gone ? stack.slice(0, -1) : noUpdate(), noUpdate()];
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

      // The window's title says where one is: tabs and screen readers show it.
      nameWindow: function (shown, path) {
        const page = PAGES[path] || "queue";
        const words = page === "case" ? (shown ? shown.id : "Case") : page.charAt(0).toUpperCase() + page.slice(1);
        document.title = words + " · calirare review desk";
        return noUpdate();
      },

      // Which rows of the queue this window wants to see.
      readControls: function (search) {
        const trigger = window.dash_clientside.callback_context.triggered_id || "";
        const before = stored("view");
        const view = { action: before.action || null, status: before.status || null, mine: before.mine === true, search: search || "" };
        if (trigger.startsWith("only-")) {
          view.action = trigger === "only-all" ? null : trigger.slice(5);
        } else if (trigger.startsWith("status-")) {
          view.status = trigger === "status-all" ? null : trigger.slice(7);
        } else if (trigger === "mine") {
          view.mine = !view.mine;
        }
        const only = ["all", "alert", "review", "clear"].map((name) => chip("only-" + name, (view.action || "all") === name));
        const status = ["all", "open", "decided", "second"].map((name) => chip("status-" + name, (view.status || "all") === name));
        return [view].concat(only, status, [chip("mine", view.mine)]);
      },

      // Prices, budget, order and the like belong to the desk: what a person changes here goes there, what others change
      // comes back by the store.
      syncSettings: async function (...inputs) {
        const context = window.dash_clientside.callback_context;
        const trigger = context.triggered_id || "";
        const [settings, miss, alarm, review, missAt, alarmAt, reviewAt, budget, blind, columns] = inputs;
        const stops = inputs[inputs.length - 1];
        const still = new Array(14).fill(noUpdate());
        if (!settings) {
          return still;
        }
        let current = settings;
        if (trigger !== "settings") {
          const wanted = wantedSettings(trigger, { miss, alarm, review, missAt, alarmAt, reviewAt, budget, blind, columns }, settings, stops);
          if (!wanted) {
            return still;
          }
          const result = await send("/api/settings", wanted);
          if (!result.data.ok) {
            say(result.data.error || "Nothing was set.", "bad");
          } else {
            current = Object.assign({}, result.data.settings, { number: result.data.number, said: "Set by you just now." });
            pollNow();
          }
        }
        return [current.number === settings.number ? noUpdate() : current].concat(shownSettings(current, stops, trigger));
      },

      reloadGrid: function (view, settings, stamp) {
        const changed = window.dash_clientside.callback_context.triggered.map((one) => one.prop_id.split(".")[0]);
        const mark = JSON.stringify([settings && settings.number, stamp && stamp.model]);
        const opening = !opened && stamp; // the first rows are asked for meanwhile, under the settings that came now
        opened = opened || Boolean(stamp);
        const sameView = JSON.stringify(view) === filledFor;
        if (mark !== reasonsOf) {
          reasonsOf = mark;
          forgetReasons();
        }
        window.dash_ag_grid.getApiAsync("queue-grid").then((api) => {
          fitColumns();
          if (opening ? sameView || !filledFor : changed.every((name) => name === "view" && sameView)) {
            return;
          }
          if (changed.includes("view") || changed.includes("settings")) {
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
        if (asked && window.dash_clientside.callback_context.triggered.some((one) => one.prop_id.startsWith("queue-grid"))) {
          filledFor = JSON.stringify(view);
        }
        setHidden("filters-keep", !Object.keys(model.filter || {}).length);
        const query = "?view=" + encodeURIComponent(JSON.stringify(Object.assign({}, view, model)));
        return [model, "/export/queue.csv" + query, "/export/queue.parquet" + query];
      },

      // This window's filters become everybody's, or everybody's go.
      setFilters: async function (keep, drop, settings, model) {
        const kept = window.dash_clientside.callback_context.triggered_id === "filters-keep";
        const wanted = kept ? Object.assign({}, settings.filters, (model || {}).filter) : {};
        const result = await send("/api/settings", { filters: wanted });
        if (!result.data.ok) {
          say(result.data.error || "Nothing was set.", "bad");
          return noUpdate();
        }
        if (kept) {
          window.dash_ag_grid.getApi("queue-grid").setFilterModel(null);
        }
        pollNow();
        return Object.assign({}, result.data.settings, { number: result.data.number, said: "Set by you just now." });
      },

      openClicked: function (cell) {
        const link = document.querySelector('#queue-grid [row-index="' + Number(cell && cell.rowIndex) + '"] a');
        if (link && cell.colId !== "ag-Grid-SelectionColumn") {
          go(link.getAttribute("href"));
        }
        return noUpdate();
      },

      markWaiting: function (search, path, seen) {
        setTick(document.getElementById("advance-tick"), window.localStorage.getItem("advance") === "true");
        lastSeen = seen;
        showWaiting();
        return noUpdate();
      },

      openTapped: function (data) {
        if (data && data.id !== "0") {
          go(caseHref(data.node));
        }
        return noUpdate();
      },

      showTicked: function (rows) {
        const count = (rows || []).length;
        return [count ? "bulk" : "bulk hidden", count === 1 ? "1 case ticked" : count + " cases ticked"];
      },

      actOnTicked: async function (rare, normal, unsure, give, none, rows, to, stack) {
        const trigger = (window.dash_clientside.callback_context.triggered_id || "").slice(5);
        const ticked = (rows || []).filter((row) => row && row.id !== undefined);
        const api = window.dash_ag_grid.getApi("queue-grid");
        if (!trigger || (!ticked.length && trigger !== "none")) {
          return [noUpdate(), noUpdate()];
        }
        let result = null;
        if (trigger === "give") {
          result = await send("/api/assign", { nodes: ticked.map((row) => row.id), to: to || "" });
          report(result, "", (to ? "Given to " + to : "Given to nobody") + ": " + ticked.length + " cases.");
        } else if (trigger !== "none") {
          const body = { nodes: ticked.map((row) => ({ node: row.id, seen: row.seen })), decision: trigger, key: randomKey() };
          result = await send("/api/decide-many", body);
          const done = (result.data.decisions || []).length;
          const late = (result.data.refused || []).length;
          report(result, "", done + " cases decided: " + trigger + ". Press z to undo." + (late ? " " + late + " were decided by others meanwhile." : ""));
        }
        if (result && !result.data.ok) {
          return [noUpdate(), noUpdate()];
        }
        api.deselectAll();
        const ids = ((result && result.data.decisions) || []).map((row) => row.id);
        return [{ node: "", turn: Date.now() }, ids.length ? (stack || []).concat([{ ids: ids }]).slice(-200) : noUpdate()];
      },

      actWithTeam: async function (give, take, second, to, seen) {
        const trigger = window.dash_clientside.callback_context.triggered_id;
        if (!trigger || !isShown(seen)) {
          return noUpdate();
        }
        if (trigger === "second") {
          const wanted = !document.getElementById("second-said");
          const result = await send("/api/second", { node: seen.id, wanted: wanted });
          return report(result, seen.id, wanted ? "A second opinion is wanted." : "No second opinion is wanted any more.");
        }
        const name = trigger === "take" ? document.querySelector(".who").textContent : to || "";
        const result = await send("/api/assign", { nodes: [seen.id], to: name });
        return report(result, seen.id, name ? "Given to " + name + "." : "Given to nobody.");
      },

      act: async function (rare, normal, unsure, undone, seen, note, stack, advance) {
        const trigger = window.dash_clientside.callback_context.triggered_id;
        if (busy || !trigger) {
          return [noUpdate(), noUpdate(), noUpdate()];
        }
        busy = true;
        acts += 1;
        try {
          return trigger === "undo" ? await undo(stack) : await decide(trigger.slice(7), seen, note, stack, advance);
        } finally {
          busy = false;
        }
      },
    },
  });

  // Dash puts the cursor back into a field whose value it has set; a slider has none, and browsers complain.
  const setSelection = window.HTMLInputElement.prototype.setSelectionRange;
  window.HTMLInputElement.prototype.setSelectionRange = function (...range) {
    if (this.type !== "range") {
      setSelection.apply(this, range);
    }
  };

  // Keys. They are taken one after the other: one that comes while a page turns waits until the case is there.

  const CASE_CLICKS = { r: "decide-rare", n: "decide-normal", u: "decide-unsure", j: "next-case", k: "previous-case", q: "to-queue", 2: "second" };
  const NO_TEXT = ["checkbox", "radio", "range", "button", "submit"];
  let lastKey = Promise.resolve();

  function isTyping(element) {
    if (!element || NO_TEXT.includes(element.type)) {
      return false;
    }
    return element.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(element.tagName);
  }

  function focusOn(id, event) {
    const found = document.getElementById(id);
    const field = found && (isTyping(found) ? found : found.querySelector("input, textarea"));
    if (field) {
      event.preventDefault();
      field.focus();
    }
  }

  function isSettled() {
    return !busy && isShown(lastSeen);
  }

  // From the moment the address changes until the case is there. Dash tells only when it is there.
  function showWaiting() {
    const box = document.getElementById("decision-card");
    const waits = window.location.pathname === "/case" && !isShown(lastSeen);
    if (box) {
      box.classList.toggle("waiting", waits);
    }
    // Cards of the case before are dimmed: nobody should read one case and decide another.
    const body = document.getElementById("case-body");
    const wanted = new URLSearchParams(window.location.search).get("id");
    document.body.classList.toggle("turning", waits || Boolean(body && window.location.pathname === "/case" && body.dataset.case !== wanted));
  }

  window.addEventListener("_dashprivate_pushstate", showWaiting);
  window.addEventListener("popstate", showWaiting);
  window.setInterval(showWaiting, 150); // the cards of a case come one by one

  // Waits until the case is there; false if another page was opened meanwhile, or it does not come.
  async function settled() {
    for (const start = Date.now(); Date.now() - start < PATIENCE_MILLISECONDS; await wait(25)) {
      if (window.location.pathname !== "/case") {
        return false;
      }
      if (isSettled()) {
        return true;
      }
    }
    return false;
  }

  async function press(key) {
    const asked = window.location.href;
    if (await settled()) {
      const before = window.location.href;
      const button = document.getElementById(CASE_CLICKS[key]);
      const turn = acts;
      if (button) {
        button.click();
        // What follows waits until the address has changed, or the decision is on its way.
        const isDone = () => (button.tagName === "A" ? window.location.href !== before : acts !== turn);
        for (let tries = 0; key !== "2" && !isDone() && tries < 100; tries += 1) {
          await wait(25);
        }
      }
    } else if (window.location.href === asked && "rnu".includes(key)) {
      say("The case is still being opened; nothing was decided.", "");
    }
  }

  function showKeys(shown) {
    const panel = document.getElementById("keys");
    const toggle = document.getElementById("keys-toggle");
    if (!panel || shown === !panel.classList.contains("hidden")) {
      return;
    }
    panel.classList.toggle("hidden", !shown);
    toggle.setAttribute("aria-expanded", shown ? "true" : "false");
    (shown ? document.getElementById("keys-close") : toggle).focus();
  }

  function keysShown() {
    const panel = document.getElementById("keys");
    return Boolean(panel && !panel.classList.contains("hidden"));
  }

  // What calirare.review.pages.painted describes: texts, and [tag, attributes, ...what is inside].
  function build(part) {
    if (!Array.isArray(part)) {
      return document.createTextNode(part);
    }
    const [tag, attributes, ...inside] = part;
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "style") {
        Object.assign(element.style, value);
      } else {
        element.setAttribute(name, value);
      }
    }
    element.append(...inside.map(build));
    return element;
  }

  function paint(box) {
    box.replaceChildren(...JSON.parse(box.getAttribute("data-painted") || "[]").map(build));
  }

  new MutationObserver((changes) => new Set(changes.map((change) => change.target)).forEach(paint)).observe(
    document.documentElement,
    { attributes: true, attributeFilter: ["data-painted"], subtree: true }
  );

  document.addEventListener("click", function (event) {
    const link = event.target.closest && event.target.closest("a[data-link]");
    if (link && event.button === 0 && !(event.metaKey || event.shiftKey || event.altKey || event.ctrlKey)) {
      event.preventDefault();
      go(link.getAttribute("href"));
    }
  });

  document.addEventListener("click", function (event) {
    const box = event.target.closest && event.target.closest(".tickbox");
    if (box) {
      toggleTick(box);
    }
    const inside = event.target.closest && event.target.closest("#keys");
    if (event.target.closest && event.target.closest("#keys-toggle")) {
      showKeys(!keysShown());
    } else if (keysShown() && (!inside || event.target.id === "keys-close")) {
      showKeys(false);
    }
    // A menu closes when something else is clicked.
    document.querySelectorAll("details.drop[open]").forEach((menu) => {
      if (!menu.contains(event.target)) {
        menu.open = false;
      }
    });
  });

  function escape(event) {
    const target = event.target;
    if (keysShown()) {
      showKeys(false);
    } else if (isTyping(target)) {
      event.preventDefault(); // else a browser empties the field for searching
      target.blur();
    }
    document.querySelectorAll("details.drop[open]").forEach((menu) => {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  }

  // A row that is still being fetched has no link yet: the key waits for it, ten seconds at most.
  function openRow(index, tries = 200) {
    const link = document.querySelector('#queue-grid [row-index="' + index + '"] a');
    if (link) {
      go(link.getAttribute("href"));
    } else if (tries && document.getElementById("queue-grid")) {
      window.setTimeout(() => openRow(index, tries - 1), 50);
    }
  }

  document.addEventListener("keydown", function (event) {
    const target = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) {
      return;
    }
    if (event.key === "Escape") {
      escape(event);
      return;
    }
    if (isTyping(target)) {
      return;
    }
    const onCase = window.location.pathname === "/case";
    if (event.key === "Enter" && target.classList && target.classList.contains("ag-cell")) {
      openRow(target.parentElement.getAttribute("row-index"));
      return;
    }
    if (event.key === "?") {
      event.preventDefault();
      showKeys(!keysShown());
    } else if (event.key === "/") {
      if (onCase) {
        go("/");
      }
      focusOn("search", event);
    } else if (event.key === "m" && onCase) {
      focusOn("note", event);
    } else if (event.key === "z") {
      event.preventDefault();
      lastKey = lastKey.then(() => (window.location.pathname === "/case" ? settled() : true)).then(() => document.getElementById("undo").click());
    } else if (onCase && CASE_CLICKS[event.key]) {
      event.preventDefault();
      const key = event.key;
      lastKey = lastKey.then(() => press(key));
    }
  });

  // Narrow windows show fewer columns; the case has them all. What a person chose to see stays, then the dearest first.

  const ALWAYS = 396; // tick, node, P(rare), action
  const OWN = 110;
  const PHONE = 520;
  const ROOM = [["saves", 92], ["decision", 132], ["reason", 180], ["lower", 150], ["assigned", 90]];

  let fittedTo = "";

  function fitColumns() {
    const box = document.getElementById("queue-grid");
    const api = box && window.dash_ag_grid && window.dash_ag_grid.getApi("queue-grid");
    const chosen = api ? api.getColumns().map((column) => column.getColId()).filter((name) => name.startsWith("record:")) : [];
    const own = box && box.clientWidth < PHONE ? 0 : chosen.length;
    const now = box ? box.clientWidth + " " + chosen.join() : "";
    if (!api || !box.clientWidth || now === fittedTo) {
      return;
    }
    fittedTo = now;
    let room = box.clientWidth - ALWAYS - OWN * own;
    const shown = {};
    ROOM.forEach(([name, width]) => {
      shown[name] = room >= width;
      room -= shown[name] ? width : 0;
    });
    Object.entries(shown).forEach(([name, visible]) => api.setColumnsVisible([name], visible));
    api.setColumnsVisible(chosen, own > 0);
    api.setColumnWidths([{ key: "probability", newWidth: box.clientWidth < PHONE ? 100 : 124 }]);
    if (!shown.reason) {
      api.sizeColumnsToFit(); // the reason takes what is left; where it is not shown, nothing else would
    }
  }

  window.addEventListener("resize", () => window.setTimeout(fitColumns, 100));
  window.setInterval(fitColumns, 1500); // and once the grid is there, whenever that is

  // On a small screen the prices are folded away at first.
  window.addEventListener("load", () => {
    const fold = () => {
      const side = document.getElementById("side");
      if (!side) {
        window.setTimeout(fold, 50);
      } else if (window.innerWidth < 900) {
        side.open = false;
      }
    };
    fold();
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

  // In blind mode the score of an undecided case is not given.
  function isThere(props) {
    return Boolean(props.data) && props.value !== null && props.value !== undefined;
  }

  cells.Plain = function (props) {
    return isThere(props) ? element("span", { title: String(props.value) }, String(props.value)) : null;
  };

  cells.Probability = function (props) {
    if (!isThere(props)) {
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
    if (!isThere(props)) {
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
    return isThere(props) ? element("span", { className: "pill pill-" + props.value }, props.value) : null;
  };

  cells.Amount = function (props) {
    return isThere(props) ? element("span", { className: "number", title: props.data.costs }, props.value.toFixed(2)) : null;
  };

  // Reasons are asked for by the rows on screen, together, and kept until prices or model change.

  const reasons = { known: new Map(), waiting: new Map(), timer: null };

  function forgetReasons() {
    reasons.known.clear();
  }

  async function fetchReasons() {
    const asked = reasons.waiting;
    reasons.waiting = new Map();
    reasons.timer = null;
    const mark = reasonsOf;
    const result = await send("/api/reasons", { nodes: Array.from(asked.keys()) });
    if (mark !== reasonsOf) {
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
