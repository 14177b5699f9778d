// kernel/grower.hpp
#include "grower.hpp"

#include "arrays.hpp"

namespace arboretum {

namespace {

template <class T, class Get>
auto node_array(const GrownTree& tree, Get get) {
    std::vector<T> items;
    items.reserve(tree.nodes.size());
    for (const GrownNode& node : tree.nodes) items.push_back(get(node));
    return to_numpy<T>(items);
}

nb::tuple category_sets(const GrownTree& tree) {
    std::vector<int64_t> start{0};
    std::vector<uint32_t> words;
    for (const GrownNode& node : tree.nodes) {
        words.insert(words.end(), node.condition.set.begin(), node.condition.set.end());
        start.push_back(static_cast<int64_t>(words.size()));
    }
    return nb::make_tuple(to_numpy<int64_t>(start), to_numpy<uint32_t>(words));
}

void bind_params(nb::module_& m) {
    nb::enum_<Growth>(m, "Growth")
        .value("leaf", Growth::leaf)
        .value("level", Growth::level)
        .value("symmetric", Growth::symmetric);
    nb::class_<TreeParams>(m, "TreeParams")
        .def(nb::init<>())
        .def_rw("growth", &TreeParams::growth)
        .def_rw("max_leaf_nodes", &TreeParams::max_leaf_nodes)
        .def_rw("max_depth", &TreeParams::max_depth)
        .def_rw("min_samples_leaf", &TreeParams::min_samples_leaf)
        .def_rw("min_child_weight", &TreeParams::min_child_weight)
        .def_rw("l1", &TreeParams::l1)
        .def_rw("l2", &TreeParams::l2)
        .def_rw("min_gain", &TreeParams::min_gain)
        .def_rw("max_delta_step", &TreeParams::max_delta_step)
        .def_rw("max_features", &TreeParams::max_features)
        .def_rw("colsample_level", &TreeParams::colsample_level)
        .def_rw("colsample_tree", &TreeParams::colsample_tree)
        .def_rw("max_onehot", &TreeParams::max_onehot)
        .def_rw("max_category_set", &TreeParams::max_category_set)
        .def_rw("category_smoothing", &TreeParams::category_smoothing)
        .def_rw("category_l2", &TreeParams::category_l2)
        .def_rw("monotone", &TreeParams::monotone)
        .def_rw("interaction_sets", &TreeParams::interaction_sets);
}

void bind_tree(nb::module_& m) {
    nb::class_<GrownTree>(m, "GrownTree")
        .def_prop_ro("n_nodes", [](const GrownTree& t) { return t.nodes.size(); })
        .def_prop_ro("packed", [](const GrownTree& t) { return t.packed; })
        .def_prop_ro("kind", [](const GrownTree& t) {
            return node_array<uint8_t>(t, [](const GrownNode& n) {
                return static_cast<uint8_t>(n.is_leaf() ? ConditionKind::leaf : n.condition.kind);
            });
        })
        .def_prop_ro("feature", [](const GrownTree& t) { return node_array<int32_t>(t, [](const GrownNode& n) { return n.condition.feature; }); })
        .def_prop_ro("code", [](const GrownTree& t) { return node_array<uint32_t>(t, [](const GrownNode& n) { return n.condition.threshold; }); })
        .def_prop_ro("left", [](const GrownTree& t) { return node_array<int32_t>(t, [](const GrownNode& n) { return n.left; }); })
        .def_prop_ro("right", [](const GrownTree& t) { return node_array<int32_t>(t, [](const GrownNode& n) { return n.right; }); })
        .def_prop_ro("missing_left", [](const GrownTree& t) { return node_array<uint8_t>(t, [](const GrownNode& n) { return static_cast<uint8_t>(n.condition.missing_left); }); })
        .def_prop_ro("gain", [](const GrownTree& t) { return node_array<double>(t, [](const GrownNode& n) { return n.gain; }); })
        .def_prop_ro("n_rows", [](const GrownTree& t) { return node_array<int64_t>(t, [](const GrownNode& n) { return n.n_rows; }); })
        .def_prop_ro("gradient", [](const GrownTree& t) { return node_array<double>(t, [&](const GrownNode& n) { return t.wide.gradient_of(n.sum); }); })
        .def_prop_ro("hessian", [](const GrownTree& t) { return node_array<double>(t, [&](const GrownNode& n) { return t.wide.hessian_of(n.sum); }); })
        .def_prop_ro("sets", &category_sets)
        .def(
            "values",
            [](const GrownTree& t, const TreeParams& params, std::optional<Vector<const double>> renewed) {
                return to_numpy<double>(node_values(t, params, renewed ? renewed->data() : nullptr));
            },
            nb::arg("params"), nb::arg("renewed").none())
        .def(
            "leaves",
            [](const GrownTree& t, const BinnedData& data, int threads, Vector<uint32_t> out) {
                parallel_blocks(data.n_rows(), 4096, threads, [&](int64_t begin, int64_t end, int) {
                    for (int64_t row = begin; row < end; ++row) out.data()[row] = route_codes(t.nodes, data, row);
                });
            },
            nb::arg("data"), nb::arg("threads"), nb::arg("out").noconvert(), Released());
}

}  // namespace

void bind_growing(nb::module_& m) {
    bind_params(m);
    bind_tree(m);
    nb::class_<Grower>(m, "Grower")
        .def(nb::init<const BinnedData&, int>(), nb::keep_alive<1, 2>(), nb::arg("data"), nb::arg("threads"))
        .def(
            "grow",
            [](Grower& self, Vector<const float> gradients, Vector<const float> hessians,
               std::optional<Vector<const Row>> rows, const TreeParams& params, uint64_t seed) {
                return self.grow(gradients.data(), hessians.data(), rows ? rows->data() : nullptr,
                                 static_cast<int64_t>(rows ? rows->size() : gradients.size()), params, seed);
            },
            nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(), nb::arg("rows").noconvert().none(),
            nb::arg("params"), nb::arg("seed"), Released())
        .def(
            "add_values",
            [](const Grower& self, Vector<const double> values, Vector<double> raw) {
                self.add_values(values.data(), raw.data());
            },
            nb::arg("values").noconvert(), nb::arg("raw").noconvert(), Released())
        .def_prop_ro("leaf_of_row", [](const Grower& self) { return to_numpy<uint32_t>(self.leaf_of_row()); });
}

}  // namespace arboretum
