// kernel/grow/grown_tree.hpp: grown trees as arrays, from which growing/grower.py makes a Forest.
#include <algorithm>
#include <span>

#include "base/parallel.hpp"
#include "bind/arrays.hpp"
#include "grow/gradient/node_values.hpp"
#include "grow/grown_tree.hpp"
#include "grow/route_rows.hpp"

namespace arboretum {

namespace {

using Trees = std::vector<const GrownTree*>;

constexpr int copying_threads = 2;  // more are not faster: memory is what takes the time

// use(name, what is read from a node, the field of a finished tree) for each number that nodes of all trees have.
template <class Use>
void for_each_field(Use&& use) {
    use("kind", [](const GrownNode& n) { return static_cast<uint8_t>(n.kind); }, &TreeFields::kind);
    use("feature", [](const GrownNode& n) { return n.feature; }, &TreeFields::feature);
    use("threshold", [](const GrownNode& n) { return n.threshold; }, &TreeFields::threshold);
    use("left", [](const GrownNode& n) { return n.left; }, &TreeFields::left);
    use("right", [](const GrownNode& n) { return n.right; }, &TreeFields::right);
    use(
        "missing_left", [](const GrownNode& n) { return static_cast<uint8_t>(n.missing_left); },
        &TreeFields::missing_left);
    use("gain", [](const GrownNode& n) { return n.gain; }, &TreeFields::gain);
    use("n_rows", [](const GrownNode& n) { return n.n_rows; }, &TreeFields::n_rows);
}

// ---- trees of gradients -----------------------------------------------------------------------------------------

// Where each tree begins among the nodes of all, and how many those are.
std::vector<size_t> starts_of(const Trees& trees) {
    std::vector<size_t> start{0};
    for (const GrownTree* tree : trees) start.push_back(start.back() + tree->nodes.size());
    return start;
}

template <class Get>
auto read_field(const Trees& trees, Get get) {
    using T = decltype(get(GrownNode{}));
    const std::vector<size_t> start = starts_of(trees);
    Pages<T> data = make_pages<T>(start.back());
    parallel_for(static_cast<int64_t>(trees.size()), copying_threads, [&](int64_t i, int) {
        std::transform(trees[i]->nodes.begin(), trees[i]->nodes.end(), data.get() + start[i], get);
    });
    return own_numpy(std::move(data), start.back());
}

// Where the words of each node begin, and the words.
nb::tuple category_sets(const Trees& trees) {
    const size_t n_nodes = starts_of(trees).back();
    std::unique_ptr<int64_t[]> start(new int64_t[n_nodes + 1]);
    int64_t* next = start.get();
    *next++ = 0;
    std::vector<uint32_t> words;
    for (const GrownTree* tree : trees) {
        if (tree->set_words.empty()) {
            next = std::fill_n(next, tree->nodes.size(), static_cast<int64_t>(words.size()));
            continue;
        }
        for (const GrownNode& node : tree->nodes) {
            const std::span<const uint32_t> set = tree->set_of(node);
            words.insert(words.end(), set.begin(), set.end());
            *next++ = static_cast<int64_t>(words.size());
        }
    }
    return nb::make_tuple(own_numpy(std::move(start), n_nodes + 1), to_numpy<uint32_t>(words));
}

nb::dict join_trees(const Trees& trees) {
    nb::dict joined;
    for_each_field([&](const char* name, auto get, auto) { joined[name] = nb::cast(read_field(trees, get)); });
    joined["code"] = nb::cast(read_field(trees, [](const GrownNode& n) { return n.code; }));
    joined["sets"] = category_sets(trees);
    return joined;
}

// ---- finished trees ---------------------------------------------------------------------------------------------

// The items of each tree, one tree after the other; read(tree) is a span of them.
template <class T, class Read>
auto join(const GrownForest& forest, Read&& read) {
    std::vector<size_t> start{0};
    for (const TreeFields& tree : forest.trees) start.push_back(start.back() + read(tree).size());
    Pages<T> data = make_pages<T>(start.back());
    const int threads = std::min(forest.threads, copying_threads);
    parallel_for(static_cast<int64_t>(forest.trees.size()), threads, [&](int64_t i, int) {
        const std::span<const T> items = read(forest.trees[i]);
        std::copy(items.begin(), items.end(), data.get() + start[i]);
    });
    return own_numpy(std::move(data), start.back());
}

template <class T>
auto join_field(const GrownForest& forest, T* TreeFields::* field) {
    return join<T>(forest, [&](const TreeFields& tree) { return std::span<const T>(tree.*field, tree.n_nodes); });
}

// Where the items of each node begin, if it has some of this kind.
template <class Has>
auto item_starts(const GrownForest& forest, Has&& has) {
    const size_t n_nodes = forest.n_nodes();
    if (std::ranges::none_of(forest.trees, [](const TreeFields& tree) { return tree.n_items != nullptr; }))
        return own_numpy(make_zeros<int64_t>(n_nodes + 1), n_nodes + 1);
    Pages<int64_t> start = make_pages<int64_t>(n_nodes + 1);
    int64_t *next = start.get(), total = 0;
    *next++ = 0;
    for (const TreeFields& tree : forest.trees) {
        if (tree.n_items == nullptr) {
            next = std::fill_n(next, tree.n_nodes, total);
            continue;
        }
        for (size_t i = 0; i < tree.n_nodes; ++i) {
            if (has(static_cast<ConditionKind>(tree.kind[i]))) total += tree.n_items[i];
            *next++ = total;
        }
    }
    return own_numpy(std::move(start), n_nodes + 1);
}

nb::tuple category_sets(const GrownForest& forest) {
    return nb::make_tuple(
        item_starts(forest, [](ConditionKind kind) { return kind != ConditionKind::oblique; }),
        join<uint32_t>(forest, [](const TreeFields& tree) { return std::span<const uint32_t>(tree.set_words); }));
}

// Where the terms of each node begin; their features, weights and fills.
nb::tuple projections(const GrownForest& forest) {
    std::vector<int32_t> feature;
    std::vector<double> weight, fill;
    for (const TreeFields& tree : forest.trees)
        for (const ProjectionTerm& term : tree.terms) {
            feature.push_back(term.feature);
            weight.push_back(term.weight);
            fill.push_back(term.fill);
        }
    return nb::make_tuple(item_starts(forest, [](ConditionKind kind) { return kind == ConditionKind::oblique; }),
                          to_numpy<int32_t>(feature), to_numpy<double>(weight), to_numpy<double>(fill));
}

auto tree_sizes(const GrownForest& forest) {
    std::vector<int64_t> sizes;
    for (const TreeFields& tree : forest.trees) sizes.push_back(static_cast<int64_t>(tree.n_nodes));
    return to_numpy<int64_t>(sizes);
}

nb::dict join_trees(const GrownForest& forest) {
    nb::dict joined;
    for_each_field([&](const char* name, auto, auto field) { joined[name] = nb::cast(join_field(forest, field)); });
    joined["sets"] = category_sets(forest);
    return joined;
}

void bind_tree(nb::module_& m) {
    nb::class_<GrownTree> tree(m, "GrownTree", "A tree grown from gradients.");
    for_each_field([&](const char* name, auto get, auto) {
        auto read = [get](const GrownTree& t) { return read_field({&t}, get); };
        tree.def_prop_ro(name, read, nb::rv_policy::automatic);
    });
    tree.def_prop_ro(
            "code", [](const GrownTree& t) { return read_field({&t}, [](const GrownNode& n) { return n.code; }); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "sets", [](const GrownTree& t) { return category_sets(Trees{&t}); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "gradient", [](const GrownTree& t) { return to_numpy<double>(t.gradients); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "hessian", [](const GrownTree& t) { return to_numpy<double>(t.hessians); }, nb::rv_policy::automatic)
        .def_prop_ro("n_nodes", [](const GrownTree& t) { return t.nodes.size(); })
        .def_prop_ro("packed", [](const GrownTree& t) { return t.packed; })
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
                RowRouter(t, data).route_all(threads, out.data());
            },
            nb::arg("data"), nb::arg("threads"), nb::arg("out").noconvert(), Released())
        .def(
            "add_values",
            [](const GrownTree& t, const BinnedData& data, Vector<const double> values, int threads,
               Vector<double> raw) { add_node_values(t, data, values.data(), threads, raw.data()); },
            nb::arg("data"), nb::arg("values").noconvert(), nb::arg("threads"), nb::arg("raw").noconvert(), Released());
}

void bind_forest(nb::module_& m) {
    nb::class_<GrownForest>(m, "GrownForest", "Trees of impurity or isolation.")
        .def_prop_ro(
            "risk", [](const GrownForest& forest) { return join_field(forest, &TreeFields::risk); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "weight", [](const GrownForest& forest) { return join_field(forest, &TreeFields::weight); },
            nb::rv_policy::automatic)
        .def_prop_ro("projections", &projections, nb::rv_policy::automatic)
        .def_prop_ro("sizes", &tree_sizes, nb::rv_policy::automatic)
        .def_prop_ro(
            "values",
            [](const GrownForest& forest) {
                return join<double>(forest, [&](const TreeFields& tree) {
                    return std::span<const double>(tree.values, tree.n_nodes * static_cast<size_t>(forest.width));
                });
            },
            nb::rv_policy::automatic)
        .def("extend", &GrownForest::extend, nb::arg("more"))
        .def_prop_ro("n_nodes", &GrownForest::n_nodes)
        .def_ro("width", &GrownForest::width);
}

}  // namespace

void bind_grown(nb::module_& m) {
    bind_tree(m);
    bind_forest(m);
    m.def(
        "join_trees", [](const Trees& trees) { return join_trees(trees); }, nb::arg("trees"),
        "The fields of the nodes of all trees, one tree after the other.");
    m.def("join_trees", [](const GrownForest& forest) { return join_trees(forest); }, nb::arg("trees"));
}

}  // namespace arboretum
