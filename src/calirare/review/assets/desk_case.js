// The case: deciding it, taking that back, giving it to someone; and whether it is on the page yet.
(function () {
  "use strict";

  const { caseHref, go, noUpdate, offer, randomKey, report, say, send, setTick, wait } = window.desk;
  const PATIENCE_MILLISECONDS = 20000;
  let busy = false;
  let acts = 0;
  let lastSeen = null;

  // Whether the head, the cards and what is known of the decision are all of the case that the address names.
  function isShown(seen) {
    const wanted = new URLSearchParams(window.location.search).get("id");
    const title = document.getElementById("case-id");
    const body = document.getElementById("case-body");
    const drawn = Boolean(title && title.textContent === wanted && body && body.dataset.case === wanted);
    return Boolean(drawn && seen && window.location.pathname === "/case" && seen.id === wanted);
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
      return [report(many, "", "Taken back: " + ((many.data.decisions || []).length === 1 ? "1 decision." : (many.data.decisions || []).length + " decisions.") + late), gone ? stack.slice(0, -1) : noUpdate(), noUpdate()];
    }
    const result = await send("/api/undo", { decision: last.id, key: randomKey() });
    const acted = report(result, last.node, "Taken back: the decision on " + last.node + ".");
    const settled = result.status !== 0 && result.status < 500;
    if (result.data.ok && window.location.pathname === "/case") {
      window.setTimeout(() => go(caseHref(last.node)), 0);
    }
    return [acted, settled ? stack.slice(0, -1) : noUpdate(), noUpdate()];
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
    document.body.classList.toggle("turning", waits); // cards of the case before are dimmed
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

  window.desk.settled = settled;
  window.desk.numActs = () => acts;

  offer({
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
  });
})();
