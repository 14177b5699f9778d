// Sections: each takes its facts and returns what stands in its panel.

const leftOut = (facts) => make("section", { class: "card" }, make("p", { class: "empty" }, facts.left_out));

// ---- overview ----

function overview(report, open) {
  const { about, sections } = report;
  return [headline(about, sections), digest(sections.findings, open), columnTable(sections.data.columns, about.rows)];
}

function headline(about, sections) {
  const tiles = [];
  const first = sections.evaluation.outputs && sections.evaluation.outputs[0];
  if (first) {
    for (const metric of first.metrics.slice(0, 2)) {
      tiles.push(
        tile(
          metric.name,
          number(metric.model),
          metric.baseline === null ? "" : `baseline ${number(metric.baseline)}`,
          metric === first.metrics[0],
        ),
      );
    }
  }
  tiles.push(
    tile(
      "rows of this report",
      number(about.rows),
      about.train_rows === null ? "" : `${number(about.train_rows)} training rows`,
    ),
  );
  tiles.push(
    tile(
      "columns",
      number(about.columns),
      about.categorical ? `${number(about.categorical)} of categories` : "all numbers",
    ),
  );
  const trees = sections.training.facts.find(([name]) => name === "trees");
  if (trees) tiles.push(tile("trees", number(trees[1]), "", false));
  return make("dl", { class: "tiles" }, tiles);
}

function digest(findings, open) {
  const list = findings.findings;
  const grave = list.filter((finding) => finding.grade !== "note");
  const shown = grave.slice(0, 3);
  const more = make(
    "button",
    { type: "button", class: "link controls", click: () => open("findings") },
    grave.length > shown.length ? `All ${plural(grave.length, "warning")}` : "Details",
  );
  if (!grave.length)
    return card(
      "Nothing alarming was found",
      list.length
        ? `${plural(list.length, "remark")} under Warnings.`
        : `${findings.looked_for.length} kinds of faults were looked for: see Warnings.`,
    );
  return make(
    "section",
    { class: "card" },
    make("div", { class: "row spread" }, make("h3", {}, "Look at this first"), more),
    shown.map(findingEntry),
  );
}

function columnTable(columns, rows) {
  const missingShare = (column) => column.missing / rows;
  const table = sortedTable(
    [
      { name: "column", value: (c) => c.name, cell: (c) => c.name },
      {
        name: "kind",
        value: (c) => c.source,
        cell: (c) =>
          make(
            "span",
            { class: "tag" },
            c.kind === "categorical" ? "categories" : c.source === "number" ? "numbers" : c.source,
          ),
      },
      {
        name: "missing",
        number: true,
        value: (c) => c.missing,
        meter: missingShare,
        cell: (c) => (c.missing ? `${number(c.missing)} (${percent(missingShare(c))})` : "none"),
      },
      { name: "distinct", number: true, value: (c) => c.distinct },
      { name: "distribution", value: (c) => c.bars.length, cell: sparkline },
      {
        name: "values",
        value: (c) => (c.summary[0] || [""])[0],
        cell: (c) => make("span", { class: "muted small" }, summaryText(c)),
      },
    ],
    columns,
    { limit: 25 },
  );
  const head = make(
    "div",
    { class: "row spread" },
    make("h3", {}, "Columns"),
    columnSearch(table, columns),
  );
  return make("section", { class: "card long" }, head, table.element);
}

/** A field that keeps the rows of a table whose column has a name like what is typed; null if there are few. */
function columnSearch(table, rows) {
  if (rows.length <= 10) return null;
  const search = make("input", {
    type: "search",
    placeholder: "Find a column",
    "aria-label": "Find a column",
    input: () => table.keep((row) => row.name.toLowerCase().includes(search.value.toLowerCase())),
  });
  return make("div", { class: "controls" }, search);
}

function summaryText(column) {
  const parts = column.summary
    .slice(0, 3)
    .map(([name, value]) => `${short(name, 20)}${column.kind === "categorical" ? " × " : " "}${value}`);
  const others = column.kind === "categorical" ? column.distinct - 3 : 0;
  return (
    parts.join(", ") +
    (others > 0 ? `, … ${number(others)} more` : "") +
    (column.unseen ? `; ${number(column.unseen)} unseen` : "")
  );
}

/** A histogram of a column, as small as a word. */
function sparkline(column) {
  if (column.bars.length < 2) return make("span", { class: "muted small" }, column.bars.length ? "one value" : ABSENT);
  const bars = column.bars.map((count, at) => ({ at, count }));
  const fill = column.kind === "categorical" ? "var(--third)" : "var(--model)";
  const title =
    column.kind === "categorical"
      ? "rows by category, the most frequent first"
      : "rows from the least to the largest value";
  const svg = Plot.plot({
    width: 132,
    height: 28,
    margin: 0,
    axis: null,
    style: STYLE,
    ariaLabel: title,
    marks: [Plot.rectY(bars, { x1: "at", x2: (d) => d.at + 1, y: "count", fill, fillOpacity: 0.8, insetRight: 1 })],
  });
  svg.setAttribute("role", "img");
  return svg;
}

// ---- training ----

function trainingSection(facts) {
  const changed = facts.parameters.filter((parameter) => parameter.changed);
  const code = (text) => make("span", { class: "mono" }, text);
  const table = sortedTable(
    [
      { name: "parameter", value: (p) => p.name, cell: (p) => p.name },
      { name: "value", value: (p) => p.value, cell: (p) => code(p.value) },
      { name: "default", value: (p) => p.default, cell: (p) => code(p.default) },
      {
        name: "",
        value: (p) => Number(p.changed),
        cell: (p) => (p.changed ? make("span", { class: "tag" }, "changed") : ""),
      },
    ],
    [...changed, ...facts.parameters.filter((parameter) => !parameter.changed)],
    { limit: Math.max(8, changed.length) },
  ).element;
  const size = card(
    "The ensemble",
    null,
    make("div", { style: "margin-top: 10px" }, factList(facts.facts.map(([name, value]) => [name, number(value)]))),
  );
  return [
    make("div", { class: "grid" }, facts.curves.map(drawChart), facts.facts.length ? size : null),
    make("section", { class: "card long" }, make("h3", {}, "Parameters"), table),
  ];
}

// ---- evaluation ----

function evaluationSection(facts) {
  if (facts.outputs.length === 1) return outputEvaluation(facts.outputs[0], facts.has_train);
  const place = make("div", { style: "display: grid; gap: 20px" });
  const show = () => place.replaceChildren(...outputEvaluation(facts.outputs[choice.value], facts.has_train));
  const choice = make(
    "select",
    { change: show },
    facts.outputs.map((output, at) => make("option", { value: at }, output.name)),
  );
  show();
  return [make("label", { class: "field controls" }, "Output", choice), place];
}

function outputEvaluation(output, hasTrain) {
  const columns = [
    {
      name: "figure",
      value: (m) => m.name,
      cell: (m) =>
        make(
          "div",
          {},
          m.name,
          m.own ? make("span", { class: "tag own" }, "trained for") : null,
          make("div", { class: "muted small about" }, m.about),
        ),
    },
    {
      name: "model",
      number: true,
      value: (m) => m.model,
      cell: (m) =>
        make(
          "span",
          {},
          make("strong", {}, number(m.model)),
          m.error ? make("span", { class: "muted small" }, ` ± ${number(Number(m.error.toPrecision(2)))}`) : null,
        ),
    },
    { name: "baseline", number: true, value: (m) => m.baseline },
  ];
  if (hasTrain) columns.push({ name: "on training rows", number: true, value: (m) => m.train });
  columns.push({
    name: "",
    value: (m) => VERDICTS[m.verdict] || "",
    cell: (m) => (m.verdict ? make("span", { class: `tag ${m.verdict}` }, VERDICTS[m.verdict]) : ""),
  });
  const metrics = make(
    "section",
    { class: "card" },
    make("h3", {}, "Figures"),
    make("p", { class: "muted small" }, "± is one standard error: what other rows of the same kind would change"),
    sortedTable(columns, output.metrics).element,
  );
  return [metrics, make("div", { class: "grid" }, output.charts.map(drawChart))];
}

const VERDICTS = {
  better: "better than the baseline",
  worse: "worse than the baseline",
  alike: "no clear difference",
};

// ---- importances ----

function importancesSection(facts) {
  const names = facts.order.map((column) => facts.names[column]);
  const rows = facts.order.map((column) => ({
    name: facts.names[column],
    mark: facts.marks[facts.names[column]],
    values: facts.kinds.map((kind) => kind.values[column]),
    error: facts.permutation_error && facts.permutation_error[column],
  }));
  const largest = facts.kinds.map((kind) => d3.max(kind.values, Math.abs) || 1);
  const table = sortedTable(
    [
      {
        name: "column",
        value: (row) => row.name,
        cell: (row) =>
          make(
            "span",
            {},
            row.name,
            row.mark
              ? make(
                  "span",
                  { class: "mark", title: row.mark, role: "img", "aria-label": `Disagreement: ${row.mark}` },
                  "⚠",
                )
              : null,
          ),
      },
      ...facts.kinds.map((kind, at) => ({
        name: kind.name.replace("_", " "),
        title: kind.about,
        number: true,
        value: (row) => row.values[at],
        meter: (row) => row.values[at] / largest[at],
        cell: (row) =>
          number(row.values[at]) +
          (kind.name === "permutation" && row.error ? ` ± ${number(Number(row.error.toPrecision(2)))}` : ""),
      })),
    ],
    rows,
    { limit: 30 },
  );
  const marks = Object.entries(facts.marks);
  return [
    chart(
      names.length > 20 ? "The 20 most important columns" : "Importance of the columns",
      `each kind in parts of its largest${Object.keys(facts.marks).length ? "; ⚠ marks columns on which kinds disagree" : ""}`,
      null,
      (width) => importancePlot(facts, rows.slice(0, 20), largest, width),
      true,
    ),
    marks.length
      ? card(
          "Where kinds of importance disagree",
          "Gain is what a column did while training; permutation and SHAP are what it does to predictions of these rows. A column of much gain that changes little may be noise with many values.",
          make("div", { style: "margin-top: 10px" }, factList(marks.slice(0, 12).map(([name, text]) => [name, text]))),
        )
      : null,
    make(
      "section",
      { class: "card long" },
      make(
        "div",
        { class: "row spread" },
        make("h3", {}, "All columns"),
        columnSearch(table, rows),
      ),
      table.element,
      make(
        "div",
        { style: "margin-top: 16px" },
        factList(facts.kinds.map((kind) => [kind.name.replace("_", " "), kind.about])),
      ),
    ),
  ].filter(Boolean);
}

/** As many kinds as fit beside the names, the most telling first. */
function importancePlot(facts, rows, largest, width) {
  const letters = width < 560 ? 16 : 26;
  const label = (at) => short(rows[at].name, letters) + (rows[at].mark ? " ⚠" : "");
  const room = Math.min(210, 30 + 6.6 * d3.max(rows, (_, at) => label(at).length));
  const kinds = facts.kinds.slice(0, Math.max(2, Math.floor((width - room) / 92)));
  const bars = rows.flatMap((row, at) =>
    kinds.map((kind, k) => ({
      at,
      kind: kind.name.replace("_", " "),
      k,
      value: row.values[k],
      share: (row.values[k] || 0) / largest[k],
      name: row.name,
    })),
  );
  return plot({
    width,
    height: 60 + 22 * rows.length,
    marginTop: 34,
    marginBottom: 6,
    marginLeft: room,
    fx: { domain: kinds.map((kind) => kind.name.replace("_", " ")), label: null, padding: 0.12 },
    x: {
      axis: null,
      domain: [
        Math.min(
          0,
          d3.min(bars, (d) => d.share),
        ),
        1,
      ],
    },
    y: { domain: d3.range(rows.length), tickFormat: label, label: null, tickSize: 0, padding: 0.25 },
    marks: [
      Plot.axisFx({
        anchor: "top",
        label: null,
        textAnchor: "start",
        frameAnchor: "top-left",
        fontWeight: 600,
        fill: "var(--muted)",
      }),
      Plot.barX(bars, { fx: "kind", x1: 0, x2: 1, y: "at", fill: "var(--raised)", rx: 2 }),
      Plot.barX(bars, { fx: "kind", x1: 0, x2: "share", y: "at", fill: (d) => PALETTE[d.k % PALETTE.length], rx: 2 }),
      Plot.tip(
        bars,
        Plot.pointer({
          fx: "kind",
          x: (d) => Math.max(0, d.share),
          y: "at",
          title: (d) => `${d.name}\n${d.kind}: ${number(d.value)}`,
        }),
      ),
    ],
  });
}

// ---- dependence ----

function dependenceSection(facts) {
  const sameScale = make("input", {
    type: "checkbox",
    checked: true,
    change: () => charts.forEach((element) => element.querySelectorAll(".plot").forEach((part) => redraw(part, true))),
  });
  const all = extent(facts.columns.flatMap((column) => [...column.lines.flat(), ...(column.individual || []).flat()]));
  const domain = (column) =>
    sameScale.checked ? all : extent([...column.lines.flat(), ...(column.individual || []).flat()]);
  const lines = facts.outputs.map((name, at) => ({ name, color: PALETTE[at % PALETTE.length] }));
  const charts = facts.columns.map((column) => dependenceChart(column, lines, domain));
  return [
    make(
      "div",
      { class: "row spread" },
      make(
        "p",
        { class: "lead" },
        `Mean ${facts.of === null ? "prediction" : `probability of ${short(facts.of, 40)}`} of ${number(facts.rows)} rows if the column had each value in all of them${facts.outputs.length === 1 ? "; thin lines are single rows" : ""}. Bars below count rows: where there are few, the line is a guess.${facts.at_offset_zero ? " Predictions are those of offset 0." : ""}`,
      ),
      make("label", { class: "field controls" }, sameScale, "same vertical scale"),
    ),
    legendOf(lines),
    make("div", { class: "grid narrow" }, charts),
  ].filter(Boolean);
}

function dependenceChart(column, lines, domain) {
  const draw =
    column.kind === "categorical"
      ? (width) => categoryDependence(column, lines, domain(column), width)
      : (width) => numberDependence(column, lines, domain(column), width);
  return chart(column.name, null, null, draw);
}

function numberDependence(column, lines, domain, width) {
  const place = (value) => (column.source === "datetime" ? new Date(value / 1000) : value);
  const at = column.grid.map(place),
    x = {
      domain: [at[0], at[at.length - 1]],
      ticks: ticksFor(width),
      tickFormat: column.source === "datetime" ? undefined : axisNumber,
      label: null,
    };
  const means = column.lines.flatMap((line, k) => line.map((y, i) => ({ x: at[i], y, k })));
  const singles = (column.individual || []).flatMap((line, row) => line.map((y, i) => ({ x: at[i], y, row })));
  const main = plot({
    width,
    height: 210,
    marginBottom: 26,
    x,
    y: { domain, nice: true, grid: true, ticks: 5, label: null, tickFormat: axisNumber },
    marks: [
      Plot.line(singles, { x: "x", y: "y", z: "row", stroke: "var(--base)", strokeOpacity: 0.28, strokeWidth: 1 }),
      Plot.line(means, { x: "x", y: "y", z: "k", stroke: (d) => lines[d.k].color, strokeWidth: 2.6 }),
      Plot.tip(
        means,
        Plot.pointer({
          x: "x",
          y: "y",
          title: (d) =>
            `${lines[d.k].name ? `${lines[d.k].name}\n` : ""}${column.name}: ${d.x instanceof Date ? d.x.toISOString().slice(0, 10) : number(d.x)}\nprediction: ${number(d.y)}`,
        }),
      ),
    ],
  });
  const bins = (column.rug || []).map((count, i) => ({
    x1: place(column.edges[i]),
    x2: place(column.edges[i + 1]),
    count,
  }));
  const rug = plot({
    width,
    height: 34,
    marginTop: 2,
    marginBottom: 2,
    x: { ...x, axis: null },
    y: { axis: null },
    marks: [
      Plot.rectY(bins, { x1: "x1", x2: "x2", y2: "count", fill: "var(--base)", fillOpacity: 0.6, insetRight: 1 }),
    ],
  });
  return make("div", {}, main, rug);
}

function categoryDependence(column, lines, domain, width) {
  const kept = d3.sort(d3.range(column.grid.length), (i) => -column.rug[i]).slice(0, 15);
  const dots = kept.flatMap((i, at) =>
    column.lines.map((line, k) => ({ at, y: line[i], k, label: column.grid[i], rows: column.rug[i] })),
  );
  const most = d3.max(column.rug) || 1;
  return plot({
    width,
    height: Math.max(120, 56 + 22 * kept.length),
    marginLeft: Math.min(150, 20 + 6.6 * d3.max(kept, (i) => Math.min(20, column.grid[i].length))),
    marginRight: 44,
    x: { domain, nice: true, grid: true, ticks: 4, label: null, tickFormat: axisNumber },
    y: {
      domain: d3.range(kept.length),
      tickFormat: (at) => short(column.grid[kept[at]], 20),
      label: null,
      tickSize: 0,
    },
    marks: [
      Plot.dot(dots, { x: "y", y: "at", fill: (d) => lines[d.k].color, r: 5 }),
      Plot.text(
        kept.map((i, at) => ({ at, rows: column.rug[i] })),
        {
          frameAnchor: "right",
          y: "at",
          dx: 42,
          textAnchor: "end",
          text: (d) => number(d.rows),
          fill: "var(--muted)",
          fillOpacity: (d) => 0.55 + 0.45 * (d.rows / most),
        },
      ),
      Plot.tip(
        dots,
        Plot.pointer({
          x: "y",
          y: "at",
          title: (d) =>
            `${d.label}\n${lines[d.k].name ? `${lines[d.k].name}: ` : ""}${number(d.y)}\n${number(d.rows)} rows`,
        }),
      ),
    ],
  });
}

// ---- warnings ----

function findingEntry(finding) {
  return make(
    "div",
    { class: "finding" },
    make("span", { class: `grade ${finding.grade}` }, finding.grade),
    make(
      "div",
      {},
      make("p", {}, make("strong", {}, `${finding.kind[0].toUpperCase()}${finding.kind.slice(1)}. `), finding.text),
      make("p", { class: "muted" }, finding.cure),
    ),
  );
}

function findingsSection(facts) {
  const list = facts.findings.length
    ? facts.findings.map(findingEntry)
    : [
        make(
          "p",
          { class: "empty" },
          "Nothing was found to be wrong with the rows or the model.",
        ),
      ];
  const parts = [make("section", { class: "card long" }, list)];
  if (facts.drift.length) {
    const table = sortedTable(
      [
        { name: "column", value: (row) => row.name, cell: (row) => row.name },
        { name: "stability index", number: true, value: (row) => row.psi, meter: (row) => row.psi / 0.5 },
        { name: "Kolmogorov–Smirnov", number: true, value: (row) => row.ks, meter: (row) => row.ks },
        { name: "", value: (row) => row.psi, cell: (row) => make("span", { class: "tag" }, row.verdict) },
      ],
      facts.drift,
      { limit: 30 },
    );
    parts.push(
      make(
        "section",
        { class: "card long" },
        make("h3", {}, "Drift between training rows and these"),
        make(
          "p",
          { class: "muted small" },
          "Stability index less what chance adds to it: above 0.1 moved a little, above 0.25 moved, unless a test says that chance may have done it.",
        ),
        table.element,
      ),
    );
  } else
    parts.push(card("Drift", "Give X_train and y_train to compare the rows of this report with the training rows."));
  const about = make("div", { style: "margin-top: 10px" }, factList(facts.looked_for));
  parts.push(card("What was looked for", null, about));
  return parts;
}
