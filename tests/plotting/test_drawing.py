"""Drawings: boxes apart, text inside of them, nothing clipped."""

from __future__ import annotations

import itertools
import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import prediction as slow

import arboretum as arb
from arboretum.data.schema import ColumnSchema, Schema
from arboretum.model.forest import Forest
from arboretum.plotting import plot_tree
from arboretum.plotting.style import class_colours, elided, score_colours, text_width, wrapped

mpl.use("Agg")

LONG = "city of residence at the time of the first interview"
SCHEMA = Schema(
    (
        ColumnSchema("$income_in_$", "numeric", "number", has_missing=True),
        ColumnSchema(LONG, "categorical", "string", tuple(f"place number {j}" for j in range(40)), True),
        ColumnSchema("quite_a_long_feature_name_without_any_spaces_in_it", "numeric", "datetime"),
    ),
    named=True,
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def random_forest(seed, n_leaves, n_classes=0):
    rng = np.random.default_rng(seed)
    kinds = ["numeric", "category", "numeric"]
    trees = [slow.random_tree(rng, n_leaves, lambda: slow.random_condition(rng, kinds))]
    forest = slow.to_forest(rng, trees, max(n_classes, 1), vector_leaves=n_classes > 1)
    if not n_classes:
        return forest
    shares = rng.dirichlet(np.full(n_classes, 0.3), forest.n_nodes)
    return Forest.from_arrays(forest.to_arrays() | {"value": shares})


def boxes_of(ax):
    return {patch.get_gid(): patch for patch in ax.patches if (patch.get_gid() or "").startswith("node ")}


def assert_apart(extents):
    for a, b in itertools.combinations(extents, 2):
        assert a.x1 < b.x0 or b.x1 < a.x0 or a.y1 < b.y0 or b.y1 < a.y0, (a, b)


def contains(outer, inner):
    return outer.x0 <= inner.x0 and inner.x1 <= outer.x1 and outer.y0 <= inner.y0 and inner.y1 <= outer.y1


def assert_tidy(ax):
    """No box or line of text touches another; text lies in a box, or on an edge or in the head and in no box."""
    ax.figure.canvas.draw()
    boxes = [patch.get_window_extent() for patch in boxes_of(ax).values()]
    texts = {text: text.get_window_extent() for text in ax.texts}
    assert_apart(boxes)
    assert_apart(texts.values())
    top = max(box.y1 for box in boxes)
    for text, place in texts.items():
        assert contains(ax.get_window_extent(), place)
        if text.get_text() in ("yes", "no") or place.y0 > top:
            assert_apart([place, *boxes])
        else:
            assert sum(contains(box, place) for box in boxes) == 1, text.get_text()


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 14), st.sampled_from([0, 2, 3, 12]), st.sampled_from(["down", "right"])
)
def test_boxes_do_not_overlap_and_hold_their_text(seed, n_leaves, n_classes, orientation):
    forest = random_forest(seed, n_leaves, n_classes)
    ax = plot_tree(forest, SCHEMA, max_depth=None, orientation=orientation)
    assert set(boxes_of(ax)) == {f"node {node}" for node in range(forest.n_nodes)}
    assert_tidy(ax)
    plt.close(ax.figure)


def test_a_drawing_shrinks_to_given_axes():
    _, (above, below) = plt.subplots(2, 1, figsize=(5, 6))
    opened = plt.get_fignums()
    for ax, orientation in ((above, "down"), (below, "right")):
        assert plot_tree(random_forest(3, 8, 3), SCHEMA, ax=ax, orientation=orientation) is ax
        assert_tidy(ax)
    assert plt.get_fignums() == opened
    assert max(text.get_fontsize() for text in above.texts) < 8


def test_wide_trees_grow_to_the_right():
    def is_child_below(ax):
        boxes = boxes_of(ax)
        return boxes["node 1"].get_y() + boxes["node 1"].get_height() < boxes["node 0"].get_y()

    def is_child_beside(ax):
        boxes = boxes_of(ax)
        return boxes["node 0"].get_x() + boxes["node 0"].get_width() < boxes["node 1"].get_x()

    assert is_child_below(plot_tree(random_forest(0, 6), SCHEMA))
    assert is_child_beside(plot_tree(random_forest(0, 30), SCHEMA, max_depth=None))


def test_what_is_cut_is_counted():
    forest = random_forest(5, 20)
    ax = plot_tree(forest, SCHEMA, max_depth=2)
    shown = boxes_of(ax)
    hidden = sum(int(text.get_text().split()[1]) for text in ax.texts if text.get_text().startswith("…"))
    assert len(shown) + hidden == forest.n_nodes
    assert hidden > 0
    assert sum(patch.get_linestyle() == "--" for patch in shown.values()) == sum(
        text.get_text().endswith("nodes below") for text in ax.texts
    )


def test_edges_tell_answers_and_shares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    model = arb.BoostedTreesRegressor(n_estimators=1, max_depth=1).fit(X, np.where(X[:, 0] < 0.9, 0.0, 1.0))
    ax = plot_tree(model.forest_, model.schema_)
    assert sorted(text.get_text() for text in ax.texts if text.get_text() in ("yes", "no")) == ["no", "yes"]
    left, right = (patch.get_linewidth() for patch in ax.patches if patch.get_gid() is None)
    n_left, n_right = model.forest_.n_rows[1:3]
    assert (left - 0.7) / (right - 0.7) == pytest.approx(n_left / n_right)


def test_bars_show_the_shares_of_classes():
    forest = random_forest(7, 4, 3)
    ax = plot_tree(forest, SCHEMA, class_names=["red", "green", "blue"], max_depth=None)
    bars = [p for p in ax.patches if type(p).__name__ == "Rectangle" and p.get_y() < 0]
    widths = np.array([bar.get_width() for bar in bars]).reshape(forest.n_nodes, 3)
    order = [int(gid.split()[1]) for gid in boxes_of(ax)]
    np.testing.assert_allclose(widths / widths.sum(axis=1, keepdims=True), forest.value[order], atol=1e-12)
    assert {"red", "green", "blue"} <= {text.get_text() for text in ax.texts}


def test_a_legend_names_as_many_classes_as_fit():
    names = [f"{LONG} {k}" for k in range(9)]
    texts = [text.get_text() for text in plot_tree(random_forest(7, 2, 9), SCHEMA, class_names=names).texts]
    (more,) = (text for text in texts if text.endswith(" more"))
    n_named = sum(text == elided(name, 1.75) for name in names for text in texts)
    assert more == f"… {9 - n_named} more", texts


def test_shares_are_never_rounded_up_to_all():
    forest = random_forest(0, 1, 2)
    almost = Forest.from_arrays(forest.to_arrays() | {"value": np.array([[0.999, 0.001]])})
    assert any(text.get_text() == "class 0 >99%" for text in plot_tree(almost, SCHEMA).texts)


def test_the_title_names_the_class_of_the_score():
    forest = random_forest(0, 3)
    ax = plot_tree(forest, SCHEMA, class_names=["no", "yes"])
    assert "tree 0 of 1: score of yes" in {text.get_text() for text in ax.texts}


def test_colours():
    purple, white, orange = score_colours(np.array([-1.0, 0.0, 1.0]))
    assert purple[2] > purple[1]
    assert min(white) > 0.9
    assert orange[0] > orange[2]
    assert len(score_colours(np.array([2.0, 2.0]))) == 2
    for n in (2, 8, 9, 40):
        assert len(set(class_colours(n))) == n


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=80), st.integers(1, 4))
def test_wrapped_text_fits(text, max_lines):
    lines = wrapped(text, 1.0, max_lines)
    assert 1 <= len(lines) <= max_lines
    assert all(text_width(line) <= 1.0 for line in lines)
    if not any("…" in line for line in lines):
        assert " ".join(lines) == text


def test_a_sign_begins_a_line():
    assert wrapped("sepal width (cm) <= 123456.789", 1.2, 2) == ("sepal width (cm)", "<= 123456.789")


def test_elided_text_keeps_its_ends():
    short = elided(LONG, 1.5)
    head, tail = short.split("…")
    assert LONG.startswith(head)
    assert LONG.endswith(tail)
    assert abs(len(head) - len(tail)) <= 2
    assert elided("short", 1.5) == "short"


def test_errors():
    with pytest.raises(ValueError, match="orientation must be None, 'down' or 'right', not 'up'"):
        plot_tree(random_forest(0, 2), SCHEMA, orientation="up")
    with pytest.raises(ValueError, match="max_depth=-2: use an integer at least 0, or None"):
        plot_tree(random_forest(0, 2), SCHEMA, max_depth=-2)
    with pytest.raises(ValueError, match="tree=9 does not exist"):
        plot_tree(random_forest(0, 2), SCHEMA, 9)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"plot_tree needs matplotlib: pip install arboretum\[plot\]"):
        plot_tree(random_forest(0, 2), SCHEMA)


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, arboretum.plotting, arboretum.reading; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
