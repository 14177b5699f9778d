// Elements and words. Everything a user gave reaches the page as text: no string is ever parsed as HTML.

/** Make an element: attributes (functions become listeners), then children (strings become text). */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const ABSENT = "–";

/** Write a number with four significant digits, whole numbers in full; anything else as it is. */
function number(value) {
  if (value === null || value === undefined) return ABSENT;
  return typeof value === "number" ? `${value < 0 ? "−" : ""}${magnitude(Math.abs(value))}` : String(value);
}

function magnitude(size) {
  if (Number.isInteger(size) && size < 1e10) return size.toLocaleString("en-GB");
  if (size >= 1e7 || size < 1e-4) return size.toExponential(2).replace("e+", "e").replace("-", "−");
  if (size >= 1000) return size.toLocaleString("en-GB", { maximumFractionDigits: 1 });
  return String(Number(size.toPrecision(4)));
}

const percent = (share) => (share === null ? ABSENT : `${number(Number((100 * share).toPrecision(3)))} %`);

/** Shorten a name in its middle, where names that belong together differ least. */
function short(text, length = 28) {
  const letters = Array.from(String(text));
  if (letters.length <= length) return letters.join("");
  const end = Math.floor((length - 1) / 2);
  return `${letters.slice(0, length - 1 - end).join("")}…${letters.slice(-end).join("")}`;
}

const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
const extent = (values) => d3.extent(values.filter((value) => value !== null));

/** A card with a heading, a line below it and a body. */
function card(title, about, ...body) {
  return make(
    "section",
    { class: "card" },
    title && make("h3", {}, title),
    about && make("p", { class: "muted small" }, about),
    ...body,
  );
}

function tile(name, value, below, isLead = false) {
  return make(
    "div",
    { class: isLead ? "tile lead-tile" : "tile" },
    make("dt", {}, name),
    make("dd", {}, value),
    make("dd", {}, below || ""),
  );
}

/** A definition list of pairs. */
function factList(pairs) {
  return make(
    "dl",
    { class: "facts" },
    pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]),
  );
}

/**
 * A table that sorts by its headings. A column is {name, value: row => sortable, cell: row => text or element, number,
 * title}; the first one heads its row. On a phone the cells of a row stand below each other, unless it is kept wide.
 */
function sortedTable(
  columns,
  rows,
  { sortBy = null, limit = Infinity, rowAttributes = () => ({}), keepsWide = false } = {},
) {
  let order = sortBy,
    rising = false,
    shown = limit;
  const body = make("tbody");
  const heads = columns.map((column, at) =>
    make(
      "th",
      { scope: "col", class: column.number ? "number" : null, title: column.title },
      make(
        "button",
        {
          type: "button",
          click: () => {
            rising = order === at ? !rising : !column.number;
            order = at;
            fill();
          },
        },
        column.name,
      ),
    ),
  );
  const more = make("button", {
    type: "button",
    class: "quiet controls",
    click: () => {
      shown = Infinity;
      fill();
    },
  });
  let kept = rows;

  function fill() {
    heads.forEach((head, at) =>
      at === order
        ? head.setAttribute("aria-sort", rising ? "ascending" : "descending")
        : head.removeAttribute("aria-sort"),
    );
    const sorted =
      order === null
        ? kept
        : d3.sort(kept, (a, b) => {
            const sign = rising ? 1 : -1,
              [first, second] = [a, b].map(columns[order].value);
            return (
              (first === null) - (second === null) ||
              sign * (typeof first === "string" ? first.localeCompare(second) : d3.ascending(first, second))
            );
          });
    body.replaceChildren(
      ...sorted.slice(0, shown).map((row) =>
        make(
          "tr",
          rowAttributes(row),
          columns.map((column, at) => {
            const cell = column.cell ? column.cell(row) : number(column.value(row));
            const attributes = {
              "data-name": column.name || null,
              class: [column.number && "number", column.meter && "meter"].filter(Boolean).join(" ") || null,
            };
            if (column.meter) attributes.style = `--share: ${Math.max(0, Math.min(1, column.meter(row) || 0))}`;
            return at === 0 && column.heads !== false
              ? make("th", { scope: "row", ...attributes }, cell)
              : make("td", attributes, cell);
          }),
        ),
      ),
    );
    more.hidden = sorted.length <= shown;
    more.textContent = `Show all ${number(sorted.length)}`;
  }

  fill();
  const element = make(
    "div",
    {},
    make("div", { class: "scroll" }, make("table", { class: keepsWide ? null : "stacks" }, make("thead", {}, make("tr", {}, heads)), body)),
    more,
  );
  return {
    element,
    keep: (test) => {
      kept = rows.filter(test);
      fill();
    },
    all: () => {
      shown = Infinity;
      fill();
    },
    body,
  };
}
