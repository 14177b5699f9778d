// The page: tabs, theme, printing; then the sections from the facts that stand beside the script.

const report = JSON.parse(document.getElementById("facts").textContent);
const { about, sections } = report;
const idName = about.id_name || "id";

const tabs = new Map(); // name → {tab, panel}
const list = document.getElementById("tabs"),
  main = document.getElementById("panels");

function addTab(name, title, badge = null) {
  const tab = make(
    "button",
    {
      type: "button",
      role: "tab",
      id: `tab-${name}`,
      "aria-controls": `panel-${name}`,
      "aria-selected": "false",
      tabindex: -1,
      click: () => openTab(name),
    },
    title,
    badge,
  );
  const panel = make(
    "div",
    { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: 0, hidden: true },
    make("h2", {}, title),
  );
  list.append(tab);
  main.append(panel);
  tabs.set(name, { tab, panel });
  return panel;
}

function openTab(name, focus = false) {
  for (const [other, { tab, panel }] of tabs) {
    const isOpen = other === name;
    tab.setAttribute("aria-selected", String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    panel.hidden = !isOpen;
  }
  const { tab } = tabs.get(name);
  if (focus) tab.focus();
  tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  history.replaceState(null, "", `#${name}`);
}

list.addEventListener("keydown", (event) => {
  const names = [...tabs.keys()],
    at = names.findIndex((name) => tabs.get(name).tab === document.activeElement);
  const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
  if (next === undefined || at < 0) return;
  event.preventDefault();
  openTab(names[(next + names.length) % names.length], true);
});

/** Fill a panel; facts that were left out show their reason. */
function fill(panel, facts, content) {
  panel.append(...[facts.left_out ? leftOut(facts) : content(facts)].flat());
}

const theme = document.getElementById("theme");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
function setTheme(isDark, isChosen) {
  if (isChosen) document.documentElement.dataset.theme = isDark ? "dark" : "light";
  theme.setAttribute("aria-pressed", String(isDark));
  theme.textContent = isDark ? "Light" : "Dark";
  theme.setAttribute("aria-label", isDark ? "Use light colours" : "Use dark colours");
}
theme.addEventListener("click", () => setTheme(theme.getAttribute("aria-pressed") !== "true", true));
prefersDark.addEventListener(
  "change",
  (event) => document.documentElement.dataset.theme || setTheme(event.matches, false),
);
setTheme(prefersDark.matches, false);

// Hidden sections have no width to draw at: unfold them all first, then draw.
addEventListener("beforeprint", () => {
  document.body.classList.add("unfolded");
  redrawAll();
});
addEventListener("afterprint", () => document.body.classList.remove("unfolded"));

document.getElementById("title").textContent = report.title;
document.getElementById("kind").textContent = `${about.model} · ${about.task}`;
document.getElementById("source").textContent = [
  about.source && `judged by ${about.source}`,
  about.source_train && `trained on ${about.source_train}`,
  about.date,
]
  .filter(Boolean)
  .join(" · ");
document
  .getElementById("footer")
  .append(
    `Written by arboretum${about.release && ` ${about.release}`}. `,
    ...(about.fingerprint ? ["Model ", make("span", { class: "mono" }, about.fingerprint), ". "] : []),
    `Permutations, SHAP values and dependence rest on ${plural(about.sampled_rows, "row")}.`,
  );

const grave = sections.findings.findings.filter((finding) => finding.grade !== "note");
const badge = grave.length
  ? make(
      "span",
      { class: `badge ${grave[0].grade}`, "aria-label": plural(grave.length, "warning") },
      String(grave.length),
    )
  : null;

addTab("overview", "Overview").append(...overview(report, (name) => openTab(name, true)));
fill(addTab("training", "Training"), sections.training, trainingSection);
fill(addTab("evaluation", "Evaluation"), sections.evaluation, evaluationSection);
fill(addTab("importances", "Importances"), sections.importances, importancesSection);
fill(addTab("dependence", "Dependence"), sections.dependence, dependenceSection);
const treePanel = addTab("trees", "Trees");
let followInTree = null;
fill(treePanel, sections.trees, (facts) => {
  const viewer = treesSection(facts, sections.examples, idName);
  followInTree = (at) => {
    openTab("trees", true);
    viewer.follow(at);
  };
  return viewer.content;
});
fill(addTab("examples", "Examples"), sections.examples, (facts) => examplesSection(facts, idName, followInTree));
fill(addTab("findings", "Warnings", badge), sections.findings, findingsSection);
openTab(tabs.has(location.hash.slice(1)) ? location.hash.slice(1) : "overview");
