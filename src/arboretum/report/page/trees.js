// The tree viewer: D3 lays a tree out and zooms; nodes are buttons that unfold what is below them.

const NODE = { width: 200, height: 64, across: 268, down: 78 }; // the tree grows from left to right
const UNFOLDED_DEPTH = 3;
const READABLE = 0.85; // least scale at which texts can be read

function treesSection(facts, examples, idName) {
  const viewer = treeViewer(facts, examples, idName);
  const included =
    facts.trees.length < facts.n_trees
      ? `The first ${number(facts.trees.length)} of ${number(facts.n_trees)} trees are included, to keep the file small.`
      : `${plural(facts.n_trees, "tree")}.`;
  const about = `${included} Rows that answer a question with yes go up, others down. Drag to move, scroll to zoom, press a node to fold or unfold it.`;
  return {
    content: [make("section", { class: "card" }, make("p", { class: "muted small" }, about), viewer.element)],
    follow: viewer.follow,
  };
}

/** Nodes of a tree as a D3 hierarchy; columns of the facts become fields of each node. */
function hierarchyOf(tree) {
  const rows = tree.id.map((id, at) => ({
    at,
    id,
    parent: tree.parent[at],
    edge: tree.edge[at],
    question: `${tree.subject[at]} ${tree.test[at]}`.trim(),
    subject: tree.subject[at],
    test: tree.test[at],
    rows: tree.rows[at],
    gain: tree.gain[at],
    value: tree.value[at],
    hidden: tree.hidden[at],
    shade: tree.shade[at],
  }));
  const root = d3
    .stratify()
    .id((d) => d.at)
    .parentId((d) => (d.parent < 0 ? null : d.parent))(rows);
  for (const node of root.descendants()) {
    // all of them are listed before any is folded
    node.every = node.children;
    if (node.depth >= UNFOLDED_DEPTH) node.children = undefined;
  }
  return root;
}

function treeViewer(facts, examples, idName) {
  let root = null,
    path = new Set();
  const paths = examples && Array.isArray(examples.leaves) ? examples.leaves : null;
  const svg = d3.create("svg").attr("role", "group").attr("aria-label", "Tree");
  const stage = svg.append("g"),
    edges = stage.append("g"),
    nodes = stage.append("g");
  const zoom = d3
    .zoom()
    .scaleExtent([0.05, 3])
    .on("zoom", (event) => stage.attr("transform", event.transform));
  svg.call(zoom).on("dblclick.zoom", null);
  const frame = make("div", { class: "viewer" });
  const detail = make("div", { style: "margin-top: 14px; min-height: 96px", "aria-live": "polite" });
  const choice = make(
    "select",
    { "aria-label": "Tree", change: () => open(Number(choice.value)) },
    facts.trees.map((tree, at) =>
      make("option", { value: at }, `tree ${tree.number}${tree.about ? ` – ${short(tree.about, 40)}` : ""}`),
    ),
  );
  const step = (by) => {
    const next = Number(choice.value) + by;
    if (next >= 0 && next < facts.trees.length) {
      choice.value = next;
      open(next);
    }
  };
  const example = make(
    "select",
    {
      "aria-label": "Follow an example",
      change: () => {
        trace();
        draw();
        fit();
      },
    },
    make("option", { value: "" }, "no example"),
    paths
      ? examples.rows.map((row, at) => make("option", { value: at }, `${short(rowName(row, idName), 24)}: ${short(row.told, 30)}`))
      : [],
  );
  const button = (text, label, act) =>
    make("button", { type: "button", class: "quiet", "aria-label": label, click: act }, text);
  frame.append(svg.node());
  const controls = make(
    "div",
    { class: "row controls", style: "margin-top: 12px" },
    button("‹", "Previous tree", () => step(-1)),
    choice,
    button("›", "Next tree", () => step(1)),
    paths ? make("label", { class: "field" }, "Follow", example) : null,
    button("Unfold all", "Unfold all nodes", () => {
      unfold(root);
      draw();
      fit();
    }),
    button("Fold", "Fold deep nodes", () => {
      refold();
      draw();
      fit();
    }),
    button("+", "Zoom in", () => svg.call(zoom.scaleBy, 1.4)),
    button("−", "Zoom out", () => svg.call(zoom.scaleBy, 1 / 1.4)),
    button("Fit", "Fit the tree into the frame", () => fit()),
  );

  function unfold(node) {
    node.children = node.every;
    (node.every || []).forEach(unfold);
  }
  function refold() {
    (function visit(node) {
      node.children = node.depth >= UNFOLDED_DEPTH ? undefined : node.every;
      (node.every || []).forEach(visit);
    })(root);
    trace();
  }

  function open(at) {
    root = hierarchyOf(facts.trees[at]);
    trace();
    draw();
    fit();
    describe(root);
  }

  /** Mark the way of the chosen example from the root to its leaf, or to where the tree is cut, and unfold it. */
  function trace() {
    path = new Set();
    if (example.value === "") return;
    const end = paths[Number(example.value)][Number(choice.value)],
      byId = new Map();
    (function visit(node) {
      byId.set(node.data.id, node);
      (node.every || []).forEach(visit);
    })(root);
    for (let node = byId.get(end); node; node = node.parent) {
      path.add(node.data.at);
      if (node.parent) node.parent.children = node.parent.every;
    }
  }

  function draw() {
    d3
      .tree()
      .nodeSize([NODE.down, NODE.across])
      .separation(() => 1)(root);
    const total = root.data.rows || 1;
    edges
      .selectAll("g")
      .data(root.links(), (link) => link.target.data.at)
      .join((enter) => {
        const group = enter.append("g");
        group.append("path");
        group
          .append("text")
          .attr("class", "answer")
          .attr("text-anchor", "middle")
          .text((link) => short(link.target.data.edge, 18));
        return group;
      })
      .call((group) => {
        group
          .select("path")
          .attr("class", (link) => (path.has(link.target.data.at) ? "edge path" : "edge"))
          .attr("stroke-width", (link) => 1 + 7 * (link.target.data.rows / total))
          .attr(
            "d",
            d3
              .link(d3.curveBumpX)
              .source((link) => [link.source.y + NODE.width, link.source.x])
              .target((link) => [link.target.y, link.target.x]),
          );
        group
          .select("text")
          .attr("x", (link) => link.target.y - 24)
          .attr("y", (link) => link.target.x + 4);
      });
    nodes
      .selectAll("g.node")
      .data(root.descendants(), (node) => node.data.at)
      .join((enter) => {
        const group = enter
          .append("g")
          .attr("tabindex", 0)
          .attr("role", "button")
          .on("click", (_, node) => toggle(node))
          .on("focus mouseenter", (_, node) => describe(node))
          .on("keydown", (event, node) => {
            if (event.key === "Enter" || event.key === " ") {
              event.preventDefault();
              toggle(node);
            }
          });
        group
          .append("rect")
          .attr("y", -NODE.height / 2)
          .attr("width", NODE.width)
          .attr("height", NODE.height)
          .attr("rx", 8);
        const lines = ({ data }) =>
          data.question
            ? [data.subject, data.test, `${number(data.rows)} rows · ${data.value}`]
            : [data.value, "", `${number(data.rows)} rows`];
        ["name", "", "minor"].forEach((kind, line) =>
          group
            .append("text")
            .attr("class", kind)
            .attr("x", 12)
            .attr("y", -14 + 18 * line)
            .text((node) => short(lines(node)[line], line ? 26 : 24)),
        );
        group
          .append("text")
          .attr("class", "more")
          .attr("x", NODE.width + 8)
          .attr("y", 4);
        return group;
      })
      .attr("class", (node) => `node ${node.data.question ? "inner" : "leaf"}${path.has(node.data.at) ? " path" : ""}`)
      .style("--tint", (node) => (node.data.shade < 0.5 ? "var(--model)" : "var(--second)"))
      .style("--amount", (node) => `${Math.round(90 * Math.abs(node.data.shade - 0.5))}%`)
      .attr("transform", (node) => `translate(${node.y},${node.x})`)
      .attr("aria-expanded", (node) => (node.every ? String(Boolean(node.children)) : null))
      .attr(
        "aria-label",
        (node) =>
          `${node.data.question ? `asks ${node.data.question}` : "leaf"}, ${number(node.data.rows)} rows, value ${node.data.value}`,
      )
      .call((group) =>
        group
          .select(".more")
          .text((node) =>
            node.every && !node.children
              ? `+ ${count(node)}`
              : node.data.hidden
                ? `… ${node.data.hidden} left out`
                : "",
          ),
      );
  }

  const count = (node) => (node.every || []).reduce((sum, child) => sum + 1 + count(child), 0);

  function toggle(node) {
    if (node.every) node.children = node.children ? undefined : node.every;
    describe(node);
    draw();
  }

  function describe(node) {
    const way = node.ancestors().reverse();
    const questions = way.slice(1).map((child) => `${child.parent.data.question}: ${child.data.edge}`);
    detail.replaceChildren(
      factList([
        [node.data.question ? "question" : "leaf", node.data.question || node.data.value],
        ...(node.data.question ? [["value, were it a leaf", node.data.value]] : []),
        ["training rows", `${number(node.data.rows)} (${percent(node.data.rows / (root.data.rows || 1))})`],
        ...(node.data.question ? [["gain", number(node.data.gain)]] : []),
        ...(questions.length ? [["way here", questions.join("  ›  ")]] : []),
      ]),
    );
  }

  function fit() {
    const width = frame.clientWidth,
      height = frame.clientHeight;
    if (!width || !root) return;
    svg.attr("viewBox", [0, 0, width, height]); // in print the frame is smaller
    const all = root.descendants(),
      [top, bottom] = d3.extent(all, (node) => node.x),
      right = d3.max(all, (node) => node.y) + NODE.width + 60;
    const whole = Math.min(1.15, (width - 40) / right, (height - 40) / (bottom - top + NODE.height)),
      scale = Math.max(READABLE, whole); // a large tree is not shown whole: it begins at its root
    const middle = scale > whole ? root.x : (top + bottom) / 2;
    svg.call(
      zoom.transform,
      d3.zoomIdentity
        .translate(Math.max(16, (width - scale * right) / 2), height / 2 - scale * middle)
        .scale(scale),
    );
  }

  new ResizeObserver(fit).observe(frame);
  open(0);
  return {
    element: make("div", {}, controls, frame, detail),
    follow: (at) => {
      example.value = String(at);
      trace();
      draw();
      fit();
    },
  };
}
