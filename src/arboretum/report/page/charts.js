// Charts: Observable Plot draws them, CSS variables colour them, so that the theme needs no redrawing.

const PALETTE = ["--model", "--second", "--third", "--fourth", "--fifth", "--sixth", "--base", "--note"].map(
  (name) => `var(${name})`,
);
const STYLE = { background: "transparent", color: "var(--ink)", fontSize: "11.5px", overflow: "visible" };
const redraws = new Map(); // element → draw, for printing and for changes of width

const watcher = new ResizeObserver((entries) => entries.forEach((entry) => redraw(entry.target)));

/** Draw at the width there is; a hidden section has none and waits. */
function redraw(element, force = false) {
  const width = Math.floor(element.clientWidth);
  if (!width || (!force && width === element.drawnWidth)) return;
  element.drawnWidth = width;
  element.replaceChildren(redraws.get(element)(width));
}

/** A place that draws itself as wide as it is. */
function drawing(draw) {
  const element = make("div", { class: "plot" });
  redraws.set(element, draw);
  watcher.observe(element);
  return element;
}

const redrawAll = () => redraws.forEach((_, element) => element.isConnected && redraw(element, true));

function plot(options) {
  return Plot.plot({
    marginLeft: 52,
    marginBottom: 38,
    marginTop: 26,
    marginRight: 14,
    ...options,
    style: { ...STYLE, ...options.style },
  });
}

function chart(title, note, legend, draw, isWide = false) {
  return make(
    "figure",
    { class: isWide ? "card chart wide" : "card chart" },
    make("figcaption", {}, make("h3", {}, title), note && make("p", { class: "muted small" }, note)),
    legend,
    drawing(draw),
  );
}

/** Names and colours of lines; entries are {name, color, dashed}. */
function legendOf(entries) {
  if (entries.length < 2 && !(entries[0] && entries[0].always)) return null;
  return make(
    "div",
    { class: "legend" },
    entries.map((entry) =>
      make("span", { style: `--swatch: ${entry.color}`, class: entry.dashed ? "dashed" : null }, short(entry.name, 40)),
    ),
  );
}

/** Baselines are grey; the others take colours in turn. */
function coloursOf(roles) {
  let taken = 0;
  return roles.map((role) => (role === "baseline" ? "var(--base)" : PALETTE[taken++ % PALETTE.length]));
}

const ticksFor = (width) => Math.max(3, Math.floor(width / 90));
const compact = new Intl.NumberFormat("en-GB", { notation: "compact", maximumSignificantDigits: 3 });

/** Numbers of axes are short: 250K, 12M. */
const axisNumber = (value) =>
  Math.abs(value) >= 1e4 && Math.abs(value) < 1e15
    ? `${value < 0 ? "−" : ""}${compact.format(Math.abs(value))}`
    : number(value);

/** Lines over shared axes, as the Python side describes them. */
function curvesChart(facts) {
  const colours = coloursOf(facts.series.map((series) => series.role));
  const lines = facts.series.map((series, at) => ({
    ...series,
    color: colours[at],
    always: facts.names_line,
    dashed: series.role === "baseline",
    points: series.x
      .map((x, i) => ({ x, y: series.y[i], name: series.name }))
      .filter((point) => point.x !== null && point.y !== null),
  }));
  const across = extent(lines.flatMap((line) => line.x)),
    ruleIsRight = facts.rule > (across[0] + across[1]) / 2;
  const draw = (width) =>
    plot({
      width,
      height: facts.square ? Math.min(width, 380) : Math.min(340, Math.max(240, width * 0.6)),
      x: {
        label: facts.x,
        domain: facts.x_domain,
        ticks: ticksFor(width),
        tickFormat: axisNumber,
        labelAnchor: "center",
        labelArrow: "none",
      },
      y: {
        label: facts.y,
        domain: facts.y_domain,
        grid: true,
        nice: !facts.y_domain,
        ticks: 6,
        tickFormat: axisNumber,
        labelArrow: "none",
      },
      marks: [
        facts.rule ? Plot.ruleX([facts.rule], { stroke: "var(--second)", strokeDasharray: "3 3" }) : null,
        facts.rule
          ? Plot.text([facts.rule], {
              x: (d) => d,
              frameAnchor: "top",
              dx: ruleIsRight ? -6 : 6,
              textAnchor: ruleIsRight ? "end" : "start",
              text: () => facts.rule_name || "",
              fill: "var(--second)",
            })
          : null,
        lines.map((line) =>
          Plot.line(line.points, {
            x: "x",
            y: "y",
            stroke: line.color,
            strokeWidth: line.dashed ? 1.5 : 2.2,
            strokeDasharray: line.dashed ? "5 4" : null,
            curve: line.steps ? "step-after" : "linear",
          }),
        ),
        facts.dots
          ? lines
              .filter((line) => !line.dashed)
              .map((line) => Plot.dot(line.points, { x: "x", y: "y", fill: line.color, r: 3.5 }))
          : null,
        Plot.tip(
          lines.flatMap((line) => line.points),
          Plot.pointer({
            x: "x",
            y: "y",
            title: (d) => `${d.name}\n${facts.x}: ${number(d.x)}\n${facts.y}: ${number(d.y)}`,
          }),
        ),
      ],
    });
  return chart(facts.title, facts.note, legendOf(lines), draw);
}

/** Counts over shared bins; several sets lie over each other. */
function histogramChart(facts) {
  const colours = coloursOf(facts.series.map((series) => (facts.baseline === series.name ? "baseline" : "model")));
  const parts = facts.series.map((series, at) => ({
    name: series.name,
    color: colours[at],
    bins: series.counts.map((count, i) => ({ x1: facts.edges[i], x2: facts.edges[i + 1], count, name: series.name })),
  }));
  const draw = (width) =>
    plot({
      width,
      height: Math.min(340, Math.max(220, width * 0.6)),
      x: { label: facts.x, ticks: ticksFor(width), tickFormat: axisNumber, labelAnchor: "center", labelArrow: "none" },
      y: { label: facts.unit || "rows", grid: true, nice: true, ticks: 5, tickFormat: axisNumber, labelArrow: "none" },
      marks: [
        parts.map((part) =>
          Plot.rectY(part.bins, {
            x1: "x1",
            x2: "x2",
            y2: "count",
            fill: part.color,
            fillOpacity: parts.length > 1 ? 0.55 : 0.85,
            inset: 0.5,
          }),
        ),
        Plot.ruleY([0], { stroke: "var(--base)" }),
        facts.rule === undefined ? null : Plot.ruleX([facts.rule], { stroke: "var(--ink)", strokeDasharray: "3 3" }),
        Plot.tip(
          parts.flatMap((part) => part.bins.filter((bin) => bin.count)),
          Plot.pointerX({
            x: (d) => (d.x1 + d.x2) / 2,
            y: "count",
            title: (d) => `${d.name}\n${number(d.x1)} to ${number(d.x2)}\n${number(d.count)} ${facts.unit || "rows"}`,
          }),
        ),
      ],
    });
  return chart(facts.title, facts.note, legendOf(parts), draw);
}

function pointsChart(facts) {
  const dots = facts.points_x
    .map((x, i) => ({ x, y: facts.points_y[i] }))
    .filter((dot) => dot.x !== null && dot.y !== null);
  const both = extent(dots.flatMap((dot) => [dot.x, dot.y]));
  const draw = (width) =>
    plot({
      width,
      height: Math.min(width, 360),
      x: {
        label: facts.x,
        ticks: ticksFor(width),
        nice: true,
        tickFormat: axisNumber,
        labelAnchor: "center",
        labelArrow: "none",
      },
      y: { label: facts.y, grid: true, nice: true, ticks: 6, tickFormat: axisNumber, labelArrow: "none" },
      marks: [
        facts.reference === "diagonal"
          ? Plot.line(
              [
                [both[0], both[0]],
                [both[1], both[1]],
              ],
              { stroke: "var(--base)", strokeDasharray: "5 4" },
            )
          : Plot.ruleY([0], { stroke: "var(--base)", strokeDasharray: "5 4" }),
        Plot.dot(dots, { x: "x", y: "y", r: 2.4, fill: "var(--model)", fillOpacity: dots.length > 400 ? 0.35 : 0.6 }),
        Plot.tip(
          dots,
          Plot.pointer({ x: "x", y: "y", title: (d) => `${facts.x}: ${number(d.x)}\n${facts.y}: ${number(d.y)}` }),
        ),
      ],
    });
  return chart(facts.title, facts.note || (dots.length >= 1500 ? "1,500 rows, drawn at random" : ""), null, draw);
}

/** Cells of a confusion matrix, shaded by their share of the row. */
function matrixPlot(labels, counts, width, height) {
  const totals = counts.map((row) => d3.sum(row));
  const cells = counts.flatMap((row, i) =>
    row.map((count, j) => ({ i, j, count, share: totals[i] ? count / totals[i] : 0 })),
  );
  const few = labels.length <= 12,
    longest = 6.5 * d3.max(labels, (label) => Math.min(18, String(label).length)),
    room = Math.min(150, 20 + longest),
    isLevel = longest + 6 < (width - room - 26) / labels.length; // labels fit below their columns
  const name = (at) => short(labels[at], 18);
  return plot({
    width,
    height,
    marginLeft: room + 16,
    marginTop: 20,
    marginBottom: isLevel ? 44 : 30 + 0.75 * longest,
    marginRight: 10,
    x: {
      label: "predicted",
      domain: d3.range(labels.length),
      tickFormat: name,
      tickRotate: isLevel ? 0 : -40,
      tickSize: 0,
      labelAnchor: "center",
      labelArrow: "none",
    },
    y: { label: "actual", domain: d3.range(labels.length), tickFormat: name, tickSize: 0, labelArrow: "none" },
    marks: [
      Plot.cell(cells, { x: "j", y: "i", fill: "var(--raised)", inset: 1.5, rx: 3 }),
      Plot.cell(cells, {
        x: "j",
        y: "i",
        fill: (d) => (d.i === d.j ? "var(--model)" : "var(--second)"),
        fillOpacity: (d) => 0.9 * d.share,
        inset: 1.5,
        rx: 3,
      }),
      few
        ? Plot.text(cells, {
            x: "j",
            y: "i",
            text: (d) => (d.count || labels.length < 6 ? number(Math.round(d.count * 10) / 10) : ""),
            fill: (d) => (d.share > 0.55 ? "var(--surface)" : "var(--ink)"),
            fontSize: labels.length <= 4 ? 15 : 11,
            fontWeight: 550,
          })
        : null,
      Plot.tip(
        cells,
        Plot.pointer({
          x: "j",
          y: "i",
          title: (d) =>
            `actual ${labels[d.i]}\npredicted ${labels[d.j]}\n${number(d.count)} rows, ${percent(d.share)} of the class`,
        }),
      ),
    ],
  });
}

function matrixChart(facts) {
  return chart(facts.title, "shaded by share of the actual class", null, (width) =>
    matrixPlot(facts.labels, facts.counts, width, Math.min(560, 140 + 36 * facts.labels.length)),
  );
}

/** A confusion matrix whose threshold moves, and what follows from it. */
function thresholdChart(facts) {
  const at = (i) => {
    const tp = facts.true_positives[i],
      fp = facts.false_positives[i],
      fn = facts.positives - tp,
      tn = facts.negatives - fp,
      all = tp + fp + fn + tn;
    const ratio = (a, b) => (b > 0 ? a / b : null);
    return {
      counts: [
        [tn, fp],
        [fn, tp],
      ],
      precision: ratio(tp, tp + fp),
      recall: ratio(tp, tp + fn),
      specificity: ratio(tn, tn + fp),
      F1: ratio(2 * tp, 2 * tp + fp + fn),
      accuracy: ratio(tp + tn, all),
      "told positive": ratio(tp + fp, all),
    };
  };
  let chosen = facts.thresholds.findIndex((threshold) => threshold >= 0.5);
  const table = facts.thresholds.map((threshold, i) => ({ threshold, ...at(i) }));
  const output = make("output", { class: "mono" });
  const figures = make("dl", { class: "tiles" });
  const matrix = drawing((width) => matrixPlot(facts.labels, table[chosen].counts, width, 260));
  const trade = drawing((width) =>
    plot({
      width,
      height: 200,
      x: { label: "threshold", ticks: 5, labelAnchor: "center", labelArrow: "none" },
      y: { domain: [0, 1], ticks: 4, grid: true, label: null },
      marks: [
        ["precision", "recall", "F1"].map((name, i) =>
          Plot.line(
            table.filter((row) => row[name] !== null),
            { x: "threshold", y: name, stroke: PALETTE[i], strokeWidth: 2 },
          ),
        ),
        Plot.ruleX([table[chosen].threshold], { stroke: "var(--ink)" }),
      ],
    }),
  );
  const slider = make("input", {
    type: "range",
    min: 0,
    max: facts.thresholds.length - 1,
    value: chosen,
    "aria-label": `Threshold of the probability of ${facts.labels[1]}`,
    input: () => {
      chosen = Number(slider.value);
      show();
      redraw(matrix, true);
      redraw(trade, true);
    },
  });
  function show() {
    const row = table[chosen];
    output.textContent = row.threshold.toFixed(3);
    slider.setAttribute("aria-valuetext", row.threshold.toFixed(3));
    figures.replaceChildren(
      ...["precision", "recall", "specificity", "F1", "accuracy", "told positive"].map((name) =>
        tile(name, percent(row[name])),
      ),
    );
  }
  show();
  const legend = legendOf(["precision", "recall", "F1"].map((name, i) => ({ name, color: PALETTE[i] })));
  return make(
    "figure",
    { class: "card chart wide" },
    make(
      "figcaption",
      {},
      make("h3", {}, facts.title),
      make("p", { class: "muted small" }, `rows are told ${facts.labels[1]} if its probability is at least `, output),
    ),
    slider,
    make(
      "div",
      { class: "threshold" },
      matrix,
      make("div", {}, figures, make("div", { style: "margin-top: 14px" }, legend, trade)),
    ),
  );
}

function tableChart(facts) {
  const columns = facts.columns.map((name, at) => ({ name, number: at > 0, value: (row) => row[at] }));
  columns[0].cell = (row) => String(row[0]);
  return make(
    "section",
    { class: "card wide" },
    make("h3", {}, facts.title),
    facts.note ? make("p", { class: "muted small" }, facts.note) : null,
    sortedTable(columns, facts.rows, { limit: 30 }).element,
  );
}

const CHARTS = {
  curves: curvesChart,
  histogram: histogramChart,
  points: pointsChart,
  matrix: matrixChart,
  threshold: thresholdChart,
  table: tableChart,
  text: (facts) => card(facts.title, facts.note),
};
const drawChart = (facts) => CHARTS[facts.kind](facts);
