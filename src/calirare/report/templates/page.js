(function () {
  "use strict";
  var figures = JSON.parse(document.getElementById("figures").textContent);
  var plots = Object.keys(figures).map(function (name) {
    var plot = document.getElementById("plot-" + name);
    Plotly.newPlot(plot, figures[name].data, figures[name].layout, {
      responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"]
    });
    return plot;
  });

  // A printed page is narrower than the screen, and the figures do not notice by themselves.
  var PAGE_WIDTH = 680;
  window.addEventListener("beforeprint", function () {
    plots.forEach(function (plot) { Plotly.relayout(plot, { width: PAGE_WIDTH, autosize: false }); });
  });
  window.addEventListener("afterprint", function () {
    plots.forEach(function (plot) { Plotly.relayout(plot, { width: null, autosize: true }); });
  });

  var table = document.getElementById("cases");
  if (!table) { return; }
  var body = table.tBodies[0];
  var rows = Array.prototype.slice.call(body.rows);

  function valueOf(row, column, numeric) {
    var cell = row.cells[column];
    return numeric ? parseFloat(cell.dataset.value) : cell.textContent.toLowerCase();
  }

  Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, column) {
    head.tabIndex = 0;
    function sort() {
      var numeric = head.dataset.kind === "number";
      var order = head.getAttribute("aria-sort") === "descending" ? 1 : numeric && !head.hasAttribute("aria-sort") ? -1 : head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      Array.prototype.forEach.call(table.tHead.rows[0].cells, function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", order > 0 ? "ascending" : "descending");
      rows.sort(function (a, b) {
        var x = valueOf(a, column, numeric), y = valueOf(b, column, numeric);
        return x < y ? -order : x > y ? order : 0;
      });
      rows.forEach(function (row) { body.appendChild(row); });
    }
    head.addEventListener("click", sort);
    head.addEventListener("keydown", function (event) { if (event.key === "Enter") { sort(); } });
  });

  document.getElementById("filter").addEventListener("input", function (event) {
    var wanted = event.target.value.toLowerCase();
    rows.forEach(function (row) { row.hidden = row.textContent.toLowerCase().indexOf(wanted) < 0; });
  });
})();
