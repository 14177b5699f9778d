// A view of the arrays of a Python Forest, by their names; it must not outlive them. Arrays of another type are an
// error: a converted copy would be gone when the view is read.
#pragma once

#include "bind/arrays.hpp"
#include "forest/forest.hpp"

namespace arboretum {

inline ForestView forest_view(const nb::dict& arrays) {
    auto vector = [&]<class T>(const char* name, const T*& data) {
        if (arrays.contains(name)) data = nb::cast<Vector<const T>>(arrays[name], false).data();
    };
    ForestView forest{};
    vector("tree_start", forest.tree_start);
    vector("tree_output", forest.tree_output);
    vector("kind", forest.kind);
    vector("feature", forest.feature);
    vector("threshold", forest.threshold);
    vector("left", forest.left);
    vector("right", forest.right);
    vector("missing_left", forest.missing_left);
    vector("set_start", forest.set_start);
    vector("set_words", forest.set_words);
    vector("n_rows", forest.n_rows);
    vector("base", forest.base);
    vector("projection_start", forest.projection_start);
    vector("projection_feature", forest.projection_feature);
    vector("projection_weight", forest.projection_weight);
    vector("projection_fill", forest.projection_fill);
    vector("slope_start", forest.slope_start);
    vector("slope_feature", forest.slope_feature);
    vector("slope_weight", forest.slope_weight);
    vector("slope_centre", forest.slope_centre);
    vector("slope_low", forest.slope_low);
    vector("slope_high", forest.slope_high);
    const auto value = nb::cast<Matrix<const double>>(arrays["value"], false);
    forest.value = value.data();
    forest.width = static_cast<int64_t>(value.shape(1));
    forest.n_trees = static_cast<int64_t>(nb::len(nb::handle(arrays["tree_output"])));
    forest.n_nodes = static_cast<int64_t>(value.shape(0));
    forest.n_outputs = static_cast<int64_t>(nb::len(nb::handle(arrays["base"])));
    return forest;
}

}  // namespace arboretum
