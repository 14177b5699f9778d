// The table of examples, and why the chosen one got its prediction.

/** What a row is called: by its id, if there is one, else by its number. */
const rowName = (row, idName) => (row.id === null ? `row ${row.row}` : `${idName} ${row.id}`);

function examplesSection(facts, idName, followInTree) {
  const detail = make("section", { class: "card detail", "aria-live": "polite" });
  const has = (key) => facts.rows.some((row) => row[key] !== null);
  const columns = [
    ...(has("id") ? [{ name: idName, value: (row) => row.id, cell: (row) => clipped(row.id) }] : []),
    { name: "row", value: (row) => row.row, cell: (row) => make("span", { class: "whole" }, `${row.row}`) },
    ...(has("actual") ? [{ name: "actual", value: (row) => row.actual, cell: (row) => clipped(row.actual) }] : []),
    { name: "predicted", value: (row) => row.told, cell: (row) => clipped(row.told) },
    ...(has("error") ? [{ name: "error", number: true, value: (row) => row.error }] : []),
    {
      name: "why it is here",
      value: (row) => row.kinds[0],
      cell: (row) =>
        make(
          "span",
          {},
          row.kinds.map((kind) => make("span", { class: "tag" }, kind)),
        ),
    },
    ...facts.shown.map((column) => ({
      name: short(facts.names[column], 20),
      title: facts.names[column],
      value: (row) => row.cells[column],
      cell: (row) => clipped(row.cells[column]),
    })),
  ];
  const at = new Map(facts.rows.map((row, place) => [row, place]));
  const choose = (row, element) => {
    table.body.querySelectorAll("tr.chosen").forEach((other) => {
      other.classList.remove("chosen");
      other.removeAttribute("aria-selected");
    });
    if (element) {
      element.classList.add("chosen");
      element.setAttribute("aria-selected", "true");
    }
    detail.replaceChildren(...exampleDetail(facts, at.get(row), idName, followInTree));
  };
  const byError = columns.findIndex((column) => column.name === "error");
  const table = sortedTable(columns, facts.rows, {
    sortBy: byError < 0 ? null : byError,
    keepsWide: true,
    rowAttributes: (row) => ({
      tabindex: 0,
      click: (event) => choose(row, event.currentTarget),
      keydown: (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          choose(row, event.currentTarget);
        }
      },
    }),
  });
  const chips = ["all", ...facts.kinds].map((kind) =>
    make(
      "button",
      {
        type: "button",
        class: "chip",
        "aria-pressed": String(kind === "all"),
        click: (event) => {
          chips.forEach((chip) => chip.setAttribute("aria-pressed", String(chip === event.currentTarget)));
          table.keep((row) => kind === "all" || row.kinds.includes(kind));
        },
      },
      kind,
    ),
  );
  table.body.querySelector("tr").click();
  return [
    make("div", { class: "row controls" }, chips),
    make("div", { class: "examples" }, make("section", { class: "card long list" }, table.element), detail),
  ];
}

const clipped = (text) => make("span", { class: "clip", title: text }, text);

function exampleDetail(facts, at, idName, followInTree) {
  const row = facts.rows[at],
    name = rowName(row, idName);
  const parts = [
    make(
      "div",
      { class: "row spread" },
      make("h3", {}, `${name[0].toUpperCase()}${name.slice(1)}`),
      Array.isArray(facts.leaves) && followInTree
        ? make(
            "button",
            { type: "button", class: "link controls", click: () => followInTree(at) },
            "Follow it down the trees",
          )
        : null,
    ),
    make("p", { class: "muted small" }, `predicted ${row.told}${row.actual === null ? "" : `, actual ${row.actual}`}`),
  ];
  if (Array.isArray(facts.waterfalls)) {
    const fall = facts.waterfalls[at];
    parts.push(
      make(
        "div",
        { class: "chart", style: "margin-top: 12px" },
        make(
          "p",
          { class: "small" },
          `From the mean prediction${fall.offset === null ? "" : " beside the offset"}, ${number(fall.base)}, to this one, ${number(landing(fall))}${fall.output ? `, for ${fall.output}` : ""} (SHAP values, raw scale)`,
        ),
        drawing((width) => waterfall(facts, row, fall, width)),
      ),
    );
  } else parts.push(reason(facts.waterfalls));
  parts.push(neighbours(facts, at, idName));
  return parts;
}

const reason = (part) => make("p", { class: "muted small", style: "margin-top: 12px" }, part.left_out);

const landing = (fall) => fall.base + d3.sum(fall.values) + fall.rest;

/** Bars that begin where the one above ended. */
function waterfall(facts, row, fall, width) {
  let level = fall.base;
  const letters = Math.floor((Math.min(width * 0.5, 230) - 16) / 6.7),
    forValue = Math.max(5, Math.floor(letters * 0.35)),
    forName = letters - forValue - 3;
  const steps = fall.columns.map((column, i) => {
    const value = short(row.cells[column], forValue);
    return {
      label: `${short(facts.names[column], forName + forValue - value.length)} = ${value}`,
      full: `${facts.names[column]} = ${row.cells[column]}`,
      value: fall.values[i],
    };
  });
  if (fall.n_rest)
    steps.push({ label: `${fall.n_rest} others`, full: `${fall.n_rest} other columns`, value: fall.rest });
  const bars = steps.map((step, i) => {
    const from = level;
    level += step.value;
    return { ...step, i, from, to: level };
  });
  const room = 16 + 6.7 * d3.max(bars, (bar) => bar.label.length);
  const [low, high] = d3.extent([fall.base, ...bars.map((bar) => bar.to)]),
    span = high - low || 1,
    forText = Math.min(0.45, 68 / (width - room - 16)); // of the plot, right of the longest bar
  return plot({
    width,
    height: 34 + 25 * bars.length,
    marginLeft: room,
    marginRight: 16,
    marginTop: 6,
    marginBottom: 24,
    x: {
      domain: [low - 0.04 * span, high + (span * forText) / (1 - forText)],
      ticks: width < 420 ? 2 : 4,
      grid: true,
      label: null,
      tickFormat: axisNumber,
    },
    y: { domain: d3.range(bars.length), tickFormat: (i) => bars[i].label, tickSize: 0, label: null },
    marks: [
      Plot.ruleX([fall.base], { stroke: "var(--base)", strokeDasharray: "4 3" }),
      Plot.barX(bars, {
        x1: "from",
        x2: "to",
        y: "i",
        fill: (d) => (d.value >= 0 ? "var(--second)" : "var(--model)"),
        rx: 2,
        insetTop: 2,
        insetBottom: 2,
      }),
      Plot.text(bars, {
        x: (d) => Math.max(d.from, d.to),
        y: "i",
        text: (d) => `${d.value >= 0 ? "+" : "−"}${number(Math.abs(d.value))}`,
        textAnchor: "start",
        dx: 4,
        fill: "var(--muted)",
      }),
      Plot.tip(
        bars,
        Plot.pointerY({
          x: "to",
          y: "i",
          title: (d) => `${d.full}\n${d.value >= 0 ? "+" : "−"}${number(Math.abs(d.value))}`,
        }),
      ),
    ],
  });
}

function neighbours(facts, at, idName) {
  const found = facts.neighbours;
  if (found.left_out) return reason(found);
  const place = found.of.indexOf(at);
  if (place < 0)
    return reason({
      left_out: `Influential training rows were sought for ${plural(found.of.length, "example")} alone, to save time: rows ${found.of
        .slice(0, 12)
        .map((other) => facts.rows[other].id ?? facts.rows[other].row)
        .join(", ")}${found.of.length > 12 ? ", …" : ""}.`,
    });
  const rows = found.places[place]
    .map((row, i) => ({
      row: found.ids ? found.ids[row] : found.rows[row],
      pull: -found.change[place][i],
      actual: found.actual[row],
      cells: found.cells[row],
    }))
    .filter((row) => row.pull);
  const largest = d3.max(rows, (row) => Math.abs(row.pull)) || 1;
  const table = sortedTable(
    [
      { name: found.ids ? `training ${idName}` : "training row", value: (row) => row.row, cell: (row) => make("span", { class: "whole" }, `${row.row}`) },
      {
        name: "pull",
        number: true,
        value: (row) => row.pull,
        meter: (row) => Math.abs(row.pull) / largest,
        cell: (row) => number(row.pull),
      },
      { name: "actual", value: (row) => row.actual, cell: (row) => clipped(row.actual) },
      ...facts.shown
        .slice(0, 2)
        .map((column, i) => ({
          name: short(facts.names[column], 14),
          title: facts.names[column],
          value: (row) => row.cells[i],
          cell: (row) => clipped(row.cells[i]),
        })),
    ],
    rows,
    { keepsWide: true },
  );
  return make(
    "div",
    { style: "margin-top: 18px" },
    make("h3", {}, "Training rows that matter most to it"),
    make(
      "p",
      { class: "muted small" },
      "pull: how far the prediction would move back without the row, on the raw scale",
    ),
    table.element,
  );
}
