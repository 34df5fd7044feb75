// Keys. They are taken one after the other, and none is lost: one that comes while a page turns waits until the case is
// there, cards and all, and is for that case. A deciding key that bounces counts once.
(function () {
  "use strict";

  const { go, numActs, say, settled, toggleTick, wait } = window.desk;
  const CASE_CLICKS = { r: "decide-rare", n: "decide-normal", u: "decide-unsure", j: "next-case", k: "previous-case", q: "to-queue", 2: "second" };
  const DECIDES = ["r", "n", "u", "2"];
  const BOUNCE_MILLISECONDS = 300;
  const NO_TEXT = ["checkbox", "radio", "range", "button", "submit"];
  let lastKey = Promise.resolve();
  let lastPress = { key: null, at: 0 };

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

  async function press(key) {
    const asked = window.location.href;
    if (await settled()) {
      await click(key);
    } else if (window.location.href === asked && DECIDES.includes(key)) {
      say("The case is still being opened; nothing was decided.", "");
    }
  }

  async function click(key) {
    const before = window.location.href;
    const button = document.getElementById(CASE_CLICKS[key]);
    const turn = numActs();
    if (button && button.offsetParent) { // one that is not shown, as at a node of another kind, is not there
      button.click();
      // What follows waits until the address has changed, or the decision is on its way.
      const isDone = () => (button.tagName === "A" ? window.location.href !== before : numActs() !== turn);
      for (let tries = 0; key !== "2" && !isDone() && tries < 100; tries += 1) {
        await wait(25);
      }
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
      const { key, timeStamp } = event;
      const bounced = key === lastPress.key && timeStamp - lastPress.at < BOUNCE_MILLISECONDS;
      lastPress = { key, at: timeStamp };
      if (!(bounced && DECIDES.includes(key))) {
        lastKey = lastKey.then(() => press(key));
      }
    }
  });
})();
