// Prices, budget, order, columns and filters, which belong to the desk and not to one window.
(function () {
  "use strict";

  const { chip, noUpdate, offer, pollNow, say, send, setHidden, setTick } = window.desk;

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

  offer({
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
          current = Object.assign({}, result.data.settings, { number: result.data.number, said: "Set by you." });
          pollNow();
        }
      }
      return [current.number === settings.number ? noUpdate() : current].concat(shownSettings(current, stops, trigger));
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
      return Object.assign({}, result.data.settings, { number: result.data.number, said: "Set by you." });
    },
  });
})();
