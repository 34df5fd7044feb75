// What calirare.review.pages.painted describes: texts, and [tag, attributes, ...what is inside].
(function () {
  "use strict";

  const { go } = window.desk;

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
    if (element.hasAttribute("data-painted")) {
      paint(element);
    }
    return element;
  }

  function paint(box) {
    box.replaceChildren(...JSON.parse(box.getAttribute("data-painted") || "[]").map(build));
  }

  // What the layout brings painted is there at once, and no attribute of it changes.
  const arrival = new MutationObserver(() => {
    const desk = document.getElementById("desk");
    if (desk) {
      arrival.disconnect();
      desk.querySelectorAll("[data-painted]").forEach(paint);
    }
  });
  arrival.observe(document.documentElement, { childList: true, subtree: true });

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
})();
