"""The page in a browser: no errors, no requests, tabs by mouse and keyboard, trees, examples, dark and print."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest

import arboretum as arb

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs chromium")

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(1)</script>"
TABS = ["overview", "training", "evaluation", "importances", "dependence", "trees", "examples", "findings"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    draw = np.random.default_rng(0)
    X = pd.DataFrame({HOSTILE: draw.normal(size=300), "city": draw.choice(["Basel", HOSTILE], 300), "x" * 90: 1.0})
    y = np.where(X[HOSTILE] + draw.logistic(size=300) > 0, "yes", HOSTILE)
    model = arb.BoostedTreesClassifier(n_estimators=5, min_samples_leaf=5, max_features=1.0).fit(X, y)
    path = tmp_path_factory.mktemp("report") / "report.html"
    ids = pd.Series([f"c{row}{HOSTILE}"[:40] for row in range(300)], name="case")
    return model.report(X, y, path, X_train=X, y_train=y, title=HOSTILE, source=HOSTILE, ids=ids)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as session:
        opened = session.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser, report):
    """Open the page; what goes wrong on it fails the test at its end."""
    wrong: list[str] = []
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("dialog", lambda dialog: wrong.append(f"dialog {dialog.message}"))
    opened.on("request", lambda request: wrong.append(request.url) if request.url != report.as_uri() else None)
    opened.goto(report.as_uri())
    yield opened
    opened.close()
    assert wrong == []


def test_every_tab_opens_and_is_drawn(page):
    assert page.inner_text("h1") == HOSTILE
    assert page.eval_on_selector_all("[role=tab]", "tabs => tabs.map((tab) => tab.id.slice(4))") == TABS
    for name in TABS:
        page.click(f"#tab-{name}")
        panel = page.locator(f"#panel-{name}")
        assert panel.is_visible()
        assert page.locator("[role=tabpanel]:visible").count() == 1
        if name != "findings":
            panel.locator("svg").first.wait_for()
            assert panel.locator("svg path, svg rect").count() > 3
    assert page.locator("img").count() == 0


def test_tabs_follow_the_arrow_keys(page):
    page.focus("#tab-overview")
    for key, name in (
        ("ArrowRight", "training"),
        ("End", "findings"),
        ("ArrowRight", "overview"),
        ("ArrowLeft", "findings"),
    ):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == f"tab-{name}"
        assert page.get_attribute(f"#tab-{name}", "aria-selected") == "true"


def test_nodes_fold_and_tell_about_themselves(page):
    page.click("#tab-trees")
    nodes = page.locator("#panel-trees .node")
    before = nodes.count()
    assert before > 2
    nodes.first.click()
    assert nodes.count() == 1
    nodes.first.press("Enter")
    assert nodes.count() == before
    assert "training rows" in page.inner_text("#panel-trees")


def test_an_example_is_explained_and_followed_down_the_trees(page):
    page.click("#tab-examples")
    row = page.locator("#panel-examples .list tbody tr").nth(3)
    name = row.locator("th").inner_text()
    row.click()
    detail = page.locator("#panel-examples .detail")
    assert detail.locator("h3").first.inner_text() == f"Case {name}"
    detail.locator("svg rect").first.wait_for()
    assert detail.locator("tbody tr").count() > 0
    detail.get_by_text("Follow it down the trees").click()
    assert page.locator("#panel-trees").is_visible()
    assert page.locator("#panel-trees .node.path").count() >= 2


def test_the_threshold_moves_the_matrix(page):
    page.click("#tab-evaluation")
    page.focus("#panel-evaluation input[type=range]")
    matrix = page.locator("#panel-evaluation .threshold .plot").first
    matrix.locator("svg").wait_for()
    before = matrix.inner_text()
    page.keyboard.press("Home")
    assert matrix.inner_text() != before
    assert page.inner_text("#panel-evaluation output") == "0.000"


def test_dark_and_print(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    assert page.evaluate(ground) != light
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("[role=tabpanel]:visible").count() == len(TABS)
    assert page.locator("#panel-evaluation svg").count() >= 4


def test_a_phone_shows_the_cells_of_a_row_below_each_other(page):
    """Nothing is cut at the right, and no word of a name is broken into a narrow column."""
    page.set_viewport_size({"width": 400, "height": 800})
    for name in ("overview", "evaluation", "importances", "findings"):
        page.click(f"#tab-{name}")
        cells = page.locator(f"#panel-{name} table.stacks :is(td, th):visible")
        assert cells.count() > 3
        boxes = cells.evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())")
        assert all(box["left"] >= 0 and box["right"] <= 400 for box in boxes)
    page.click("#tab-importances")
    widths = page.locator("#panel-importances .plot svg").evaluate_all(
        "all => all.map((one) => [one.clientWidth, one.getAttribute('width')])"
    )
    assert all(abs(shown - float(drawn)) < 2 for shown, drawn in widths)  # drawn for this width, not shrunk


@pytest.mark.parametrize("width", [400, 1600])
def test_no_width_makes_the_page_scroll_sideways(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    for name in TABS:
        page.click(f"#tab-{name}")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
