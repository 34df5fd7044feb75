// What must happen in the browser. This file: what the others use; each of them is loaded after it.
(function () {
  "use strict";

  const PAGES = {
    "/": "queue",
    "/case": "case",
    "/reliability": "reliability",
    "/monitoring": "monitoring",
    "/model": "model",
  };
  const NOWHERE = "nowhere";
  const NAV = ["queue", "reliability", "monitoring", "model"];
  const ASKED = ["case", "decision", "reliability", "monitoring", "model"];
  const TRIES = 3;

  function noUpdate() {
    return window.dash_clientside.no_update;
  }

  function go(href) {
    window.history.pushState({}, "", href);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
    window.scrollTo(0, 0);
  }

  // Dash tells no address at all before it knows one.
  function pageOf(path) {
    return path ? PAGES[path] || NOWHERE : "queue";
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

  function setHidden(id, hidden) {
    const found = document.getElementById(id);
    if (found) {
      found.classList.toggle("hidden", hidden);
    }
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

  // Functions that the pages' callbacks name.
  function offer(functions) {
    const known = window.dash_clientside || {};
    window.dash_clientside = Object.assign({}, known, { desk: Object.assign({}, known.desk, functions) });
  }

  window.desk = { caseHref, chip, go, noUpdate, offer, pollNow, randomKey, report, say, send, setHidden, setTick, stored, toggleTick, wait };

  offer({
    showPage: function (path) {
      const shown = pageOf(path);
      const pages = Object.values(PAGES).concat(NOWHERE).map((name) => (name === shown ? "page" : "page hidden"));
      const links = NAV.map((name) => "nav-link" + (name === shown || (name === "queue" && shown === "case") ? " here" : ""));
      return pages.concat(links);
    },

    // What a page shows is asked for when the page is open and the desk has said what holds for it. News of decisions
    // alone do not turn a case over: they ask for its decision.
    askPages: function (path, search, settings, stamp) {
      const page = pageOf(path);
      const changed = window.dash_clientside.callback_context.triggered.map((one) => one.prop_id.split(".")[0]);
      const part = page === "case" && changed.every((one) => one === "stamp") ? "decision" : page;
      const asked = { id: new URLSearchParams(search).get("id") || "", turn: Date.now() };
      return ASKED.map((name) => (settings && stamp && name === part ? asked : noUpdate()));
    },

    showMessage: function (message) {
      if (message && message.text) {
        say(message.text, message.kind);
      }
      return noUpdate();
    },

    // The window's title says where one is: tabs and screen readers show it.
    nameWindow: function (shown, path) {
      const page = pageOf(path);
      const named = { case: shown ? shown.id : "Case", [NOWHERE]: "No such page" }[page];
      const words = named || page.charAt(0).toUpperCase() + page.slice(1);
      document.title = words + " · calirare review desk";
      return noUpdate();
    },
  });

  // Dash puts the cursor back into a field whose value it has set; a slider has none, and browsers complain.
  const setSelection = window.HTMLInputElement.prototype.setSelectionRange;
  window.HTMLInputElement.prototype.setSelectionRange = function (...range) {
    if (this.type !== "range") {
      setSelection.apply(this, range);
    }
  };
})();
