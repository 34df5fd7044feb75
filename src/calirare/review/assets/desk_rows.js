// Rows of the queue. The grid asks for them itself; the first are on their way before the grid is there.
(function () {
  "use strict";

  const { offer, noUpdate, say, send, setHidden, stored, wait } = window.desk;
  const PAGE = 100;
  let view = wanted(stored("view")); // which rows this window wants
  let filled = null; // under which view, settings and decisions the newest rows came
  let ahead = null;

  function wanted(given) {
    return { action: given.action || null, status: given.status || null, mine: given.mine === true, search: given.search || "" };
  }

  function ask(body) {
    return send("/api/rows", body).then((result) => {
      if (result.data.ok) {
        filled = { view: body.view, settings: result.data.settings, stamp: mark(result.data.stamp) };
      }
      return result;
    });
  }

  function mark(stamp) {
    return [stamp.decisions, stamp.team, stamp.model];
  }

  function same(one, other) {
    return JSON.stringify(one) === JSON.stringify(other);
  }

  function body(start, stop, sort, filter) {
    return { start: start, stop: stop, sort: sort, filter: filter, view: view };
  }

  function answerTo(asked) {
    const early = ahead && same(ahead.asked, asked) ? ahead.answer : null;
    ahead = null;
    return early || ask(asked);
  }

  // The case page steps through the same rows, and files hold them.
  function remember(sort, filter) {
    const model = { sort: sort, filter: filter };
    const before = stored("grid-model");
    if (!same(model, { sort: before.sort || [], filter: before.filter || {} })) {
      window.dash_clientside.set_props("grid-model", { data: model });
    }
    setHidden("filters-keep", !Object.keys(filter).length);
    showFiles(model);
  }

  function showFiles(model) {
    const query = "?view=" + encodeURIComponent(JSON.stringify(Object.assign({}, view, model)));
    ["csv", "parquet"].forEach((kind) => {
      const link = document.getElementById("export-queue-" + kind);
      if (link) {
        link.setAttribute("href", "/export/queue." + kind + query);
      }
    });
  }

  const source = {
    rowCount: undefined,
    getRows: async function (params) {
      const [sort, filter] = [params.sortModel || [], params.filterModel || {}];
      remember(sort, filter);
      const result = await answerTo(body(params.startRow, params.endRow, sort, filter));
      if (result.data.ok) {
        params.successCallback(result.data.rows, result.data.count);
      } else {
        params.failCallback();
        say(result.data.error || "The rows did not come.", "bad");
      }
    },
  };

  if (window.location.pathname === "/") {
    ahead = { asked: body(0, PAGE, [], {}) };
    ahead.answer = ask(ahead.asked);
  }
  const grid = window.dash_ag_grid.getApiAsync("queue-grid");
  grid.then(async (api) => {
    while (!api.getGridOption("datasource")) {
      await wait(10); // Dash gives the grid a source of its own first, and must not take ours away
    }
    api.setGridOption("datasource", source);
  });

  offer({
    // Rows that came under what is set now stay; others are asked for again.
    reloadGrid: function (data, settings, stamp) {
      const changed = window.dash_clientside.callback_context.triggered.map((one) => one.prop_id.split(".")[0]);
      view = wanted(data || {});
      window.desk.setReasonsOf(JSON.stringify([settings && settings.number, stamp && stamp.model]));
      grid.then(async (api) => {
        window.desk.fitColumns();
        if (ahead) {
          await ahead.answer;
        }
        if (filled && same(filled, { view: view, settings: settings ? settings.number : filled.settings, stamp: stamp ? mark(stamp) : filled.stamp })) {
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
  });
})();
