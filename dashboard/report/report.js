document.querySelectorAll("script[data-plot]").forEach(function (island) {
  var figure = JSON.parse(island.textContent);
  Plotly.newPlot(document.getElementById(island.dataset.plot), figure.data, figure.layout, { displayModeBar: false });
});
addEventListener("beforeprint", function () {
  document.querySelectorAll("details").forEach(function (part) { part.dataset.was = part.open ? "open" : ""; part.open = true; });
});
addEventListener("afterprint", function () {
  document.querySelectorAll("details").forEach(function (part) { part.open = part.dataset.was === "open"; });
});
