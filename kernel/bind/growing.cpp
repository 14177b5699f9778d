// kernel/grow/gradient/grower.hpp, kernel/grow/route_rows.hpp, kernel/leaves/leaves.hpp, kernel/leaves/steps.hpp
#include "base/rng.hpp"
#include "bind/arrays.hpp"
#include "grow/gradient/grower.hpp"
#include "grow/route_rows.hpp"
#include "leaves/leaves.hpp"
#include "leaves/steps.hpp"

namespace arboretum {

namespace {

using Trees = std::span<const GrownTree* const>;

// use(name, a value of the type, what is read from a node) for each number of a node.
template <class Use>
void for_each_field(Use&& use) {
    using Tree = GrownTree;
    using Node = GrownNode;
    use("kind", uint8_t{},
        [](const Tree&, const Node& n) { return n.is_leaf() ? ConditionKind::leaf : n.condition.kind; });
    use("feature", int32_t{}, [](const Tree&, const Node& n) { return n.condition.feature; });
    use("code", Code{}, [](const Tree&, const Node& n) { return n.condition.threshold; });
    use("left", int32_t{}, [](const Tree&, const Node& n) { return n.left; });
    use("right", int32_t{}, [](const Tree&, const Node& n) { return n.right; });
    use("missing_left", uint8_t{}, [](const Tree&, const Node& n) { return n.condition.missing_left; });
    use("gain", double{}, [](const Tree&, const Node& n) { return n.gain; });
    use("n_rows", int64_t{}, [](const Tree&, const Node& n) { return n.n_rows; });
    use("gradient", double{}, [](const Tree& t, const Node& n) { return t.wide.gradient_of(n.sum); });
    use("hessian", double{}, [](const Tree& t, const Node& n) { return t.wide.hessian_of(n.sum); });
}

// One field of all nodes, tree after tree.
template <class T, class Get>
auto read_field(Trees trees, Get get) {
    std::vector<T> items;
    for (const GrownTree* tree : trees)
        for (const GrownNode& node : tree->nodes) items.push_back(static_cast<T>(get(*tree, node)));
    return to_numpy<T>(items);
}

nb::tuple category_sets(Trees trees) {
    std::vector<int64_t> start{0};
    std::vector<uint32_t> words;
    for (const GrownTree* tree : trees)
        for (const GrownNode& node : tree->nodes) {
            words.insert(words.end(), node.condition.set.begin(), node.condition.set.end());
            start.push_back(static_cast<int64_t>(words.size()));
        }
    return nb::make_tuple(to_numpy<int64_t>(start), to_numpy<uint32_t>(words));
}

// What GrownTree tells of its nodes, of many trees at once.
nb::dict join_trees(const std::vector<const GrownTree*>& trees) {
    nb::dict joined;
    for_each_field([&](const char* name, auto type, auto get) {
        joined[name] = nb::cast(read_field<decltype(type)>(trees, get));
    });
    joined["sets"] = category_sets(trees);
    return joined;
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
        .def_rw("cosine", &TreeParams::cosine)
        .def_rw("score_noise", &TreeParams::score_noise)
        .def_rw("max_delta_step", &TreeParams::max_delta_step)
        .def_rw("max_features", &TreeParams::max_features)
        .def_rw("colsample_level", &TreeParams::colsample_level)
        .def_rw("colsample_tree", &TreeParams::colsample_tree)
        .def_rw("max_onehot", &TreeParams::max_onehot)
        .def_rw("max_category_set", &TreeParams::max_category_set)
        .def_rw("category_smoothing", &TreeParams::category_smoothing)
        .def_rw("category_l2", &TreeParams::category_l2)
        .def_rw("monotone", &TreeParams::monotone)
        .def_rw("interaction_sets", &TreeParams::interaction_sets)
        .def_rw("category_ranks", &TreeParams::category_ranks);
}

void bind_tree(nb::module_& m) {
    nb::class_<GrownTree> tree(m, "GrownTree");
    for_each_field([&](const char* name, auto type, auto get) {
        auto read = [get](const GrownTree* t) { return read_field<decltype(type)>({&t, 1}, get); };
        tree.def_prop_ro(name, read, nb::rv_policy::automatic);
    });
    tree.def_prop_ro("n_nodes", [](const GrownTree& t) { return t.nodes.size(); })
        .def_prop_ro("packed", [](const GrownTree& t) { return t.packed; })
        .def_prop_ro(
            "sets", [](const GrownTree* t) { return category_sets({&t, 1}); }, nb::rv_policy::automatic)
        .def(
            "values",
            [](const GrownTree& t, const TreeParams& params, std::optional<Vector<const double>> renewed) {
                return to_numpy<double>(node_values(t, params, renewed ? renewed->data() : nullptr));
            },
            nb::arg("params"), nb::arg("renewed").none())
        .def(
            "with_means",
            [](const GrownTree& t, Vector<const double> values) {
                return to_numpy<double>(with_means(t.nodes, values.data()));
            },
            nb::arg("values").noconvert())
        .def(
            "leaves",
            [](const GrownTree& t, const BinnedData& data, int threads, Vector<uint32_t> out) {
                RowRouter(t.nodes, data).route_all(threads, out.data());
            },
            nb::arg("data"), nb::arg("threads"), nb::arg("out").noconvert(), Released())
        .def(
            "add_values",
            [](const GrownTree& t, const BinnedData& data, Vector<const double> values, int threads,
               Vector<double> raw) { add_node_values(t.nodes, data, values.data(), threads, raw.data()); },
            nb::arg("data"), nb::arg("values").noconvert(), nb::arg("threads"), nb::arg("raw").noconvert(), Released());
}

template <class Real>
GrownTree grow(Grower& self, Vector<const Real> gradients, Vector<const Real> hessians,
               std::optional<Vector<const Row>> rows, const TreeParams& params, uint64_t seed,
               std::optional<Vector<const double>> factor) {
    return self.grow(gradients.data(), hessians.data(), rows ? rows->data() : nullptr,
                     factor ? factor->data() : nullptr, static_cast<int64_t>(rows ? rows->size() : gradients.size()),
                     params, seed);
}

}  // namespace

void bind_growing(nb::module_& m) {
    bind_params(m);
    bind_tree(m);
    m.def("join_trees", &join_trees, nb::arg("trees"));
    m.def(
        "weighted_values",
        [](Vector<const double> values, double weight, double limit, double growth) {
            return to_numpy<double>(weighted_values({values.data(), values.size()}, weight, limit, growth));
        },
        nb::arg("values").noconvert(), nb::arg("weight"), nb::arg("limit") = infinity, nb::arg("growth") = 1.0);
    m.def(
        "group_by_leaf",
        [](Vector<const uint32_t> leaf_of_row, std::optional<Vector<const Row>> members, int64_t n_nodes) {
            int64_t n = static_cast<int64_t>(members ? members->size() : leaf_of_row.size());
            GroupedRows grouped = group_by_leaf(leaf_of_row.data(), members ? members->data() : nullptr, n, n_nodes);
            return nb::make_tuple(to_numpy<Row>(grouped.rows), to_numpy<int64_t>(grouped.start));
        },
        nb::arg("leaf_of_row").noconvert(), nb::arg("members").noconvert().none(), nb::arg("n_nodes"));
    m.def(
        "group_quantiles",
        [](Vector<const double> values, std::optional<Vector<const double>> weight, Vector<const Row> rows,
           Vector<const int64_t> start, double q, int threads, Vector<double> out) {
            group_quantiles(values.data(), weight ? weight->data() : nullptr, rows.data(), start.data(),
                            static_cast<int64_t>(start.size()) - 1, q, threads, out.data());
        },
        nb::arg("values").noconvert(), nb::arg("weight").noconvert().none(), nb::arg("rows").noconvert(),
        nb::arg("start").noconvert(), nb::arg("q"), nb::arg("threads"), nb::arg("out").noconvert(), Released());
    m.def("draw", [](uint64_t seed, uint64_t a, uint64_t b) { return draw(seed, a, b); });
    nb::class_<Grower>(m, "Grower")
        .def(nb::init<const BinnedData&, int>(), nb::keep_alive<1, 2>(), nb::arg("data"), nb::arg("threads"))
        .def("grow", &grow<float>, nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
             nb::arg("rows").noconvert().none(), nb::arg("params"), nb::arg("seed"),
             nb::arg("factor").noconvert() = nb::none(), Released())
        .def("grow", &grow<double>, nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
             nb::arg("rows").noconvert().none(), nb::arg("params"), nb::arg("seed"),
             nb::arg("factor").noconvert() = nb::none(), Released())
        .def("prune", &Grower::prune, nb::arg("tree"), nb::arg("least_gain"), Released())
        .def(
            "add_values",
            [](const Grower& self, Vector<const double> values, Vector<double> raw) {
                self.add_values(values.data(), raw.data());
            },
            nb::arg("values").noconvert(), nb::arg("raw").noconvert(), Released())
        .def_prop_ro(
            "leaf_of_row", [](const Grower& self) { return to_numpy<uint32_t>(self.leaf_of_row()); },
            nb::rv_policy::automatic);
}

}  // namespace arboretum
