// The queue: which rows, which of them are ticked, and how many columns a window has room for.
(function () {
  "use strict";

  const { chip, go, noUpdate, offer, randomKey, report, send, setHidden, stored } = window.desk;

  // Narrow windows show fewer columns; the case has them all. What a person chose to see stays, then the dearest first.

  const ALWAYS = 396; // tick, node, P(rare), action
  const PHONE = 520;
  // What is shown while there is so much room; the last two leave some to the reason.
  const ROOM = [["saves", 92], ["reason", 200], ["decision", 132], ["lower", 230], ["assigned", 230]];

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
    const taken = own ? chosen.reduce((sum, name) => sum + api.getColumn(name).getActualWidth(), 0) : 0;
    let room = box.clientWidth - ALWAYS - taken;
    const shown = {};
    ROOM.forEach(([name, width]) => {
      shown[name] = room >= width;
      room -= shown[name] ? width : 0;
    });
    const state = ROOM.map(([name]) => ({ colId: name, hide: !shown[name] }));
    chosen.forEach((name) => state.push({ colId: name, hide: own === 0 }));
    state.push({ colId: "probability", width: box.clientWidth < PHONE ? 100 : 124 });
    api.applyColumnState({ state: state }); // in one go: each change lays the grid out again
    if (!shown.reason) {
      api.sizeColumnsToFit(); // the reason takes what is left; where it is not shown, nothing else would
    }
  }

  window.desk.fitColumns = fitColumns;
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

  function cases(count) {
    return count === 1 ? "1 case" : count + " cases";
  }

  offer({
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

    openClicked: function (cell) {
      const link = document.querySelector('#queue-grid [row-index="' + Number(cell && cell.rowIndex) + '"] a');
      if (link && cell.colId !== "ag-Grid-SelectionColumn") {
        go(link.getAttribute("href"));
      }
      return noUpdate();
    },

    showTicked: function (rows) {
      const count = (rows || []).length;
      return [count ? "bulk" : "bulk hidden", cases(count) + " ticked"];
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
        report(result, "", (to ? "Given to " + to : "Given to nobody") + ": " + cases(ticked.length) + ".");
      } else if (trigger !== "none") {
        const body = { nodes: ticked.map((row) => ({ node: row.id, seen: row.seen })), decision: trigger, key: randomKey() };
        result = await send("/api/decide-many", body);
        const done = (result.data.decisions || []).length;
        const late = (result.data.refused || []).length;
        report(result, "", cases(done) + " decided: " + trigger + ". Press z to undo." + (late ? " Others decided " + cases(late) + " meanwhile." : ""));
      }
      if (result && !result.data.ok) {
        return [noUpdate(), noUpdate()];
      }
      api.deselectAll();
      const ids = ((result && result.data.decisions) || []).map((row) => row.id);
      return [{ node: "", turn: Date.now() }, ids.length ? (stack || []).concat([{ ids: ids }]).slice(-200) : noUpdate()];
    },
  });
})();
