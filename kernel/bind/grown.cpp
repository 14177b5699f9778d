// kernel/grow/grown_tree.hpp: grown trees as arrays, from which growing/grower.py makes a Forest.
#include <functional>

#include "base/parallel.hpp"
#include "bind/arrays.hpp"
#include "grow/gradient/node_values.hpp"
#include "grow/grown_tree.hpp"
#include "grow/route_rows.hpp"

namespace arboretum {

namespace {

using Trees = std::vector<const GrownTree*>;

Trees trees_of(const GrownTree& tree) { return {&tree}; }

Trees trees_of(const GrownForest& forest) {
    Trees trees;
    for (const GrownTree& tree : forest.trees) trees.push_back(&tree);
    return trees;
}

// The items of all trees, one tree after the other: put(tree, first) writes count(tree) of them from `first` on.
template <class T, class Count, class Put>
auto collect(const Trees& trees, Count&& count, Put&& put) {
    std::vector<size_t> start{0};
    for (const GrownTree* tree : trees) start.push_back(start.back() + count(*tree));
    std::unique_ptr<T[]> data(new T[start.back()]);
    parallel_for(static_cast<int64_t>(trees.size()), 2, [&](int64_t i, int) { put(*trees[i], data.get() + start[i]); });
    return own_numpy(std::move(data), start.back());
}

// use(name, a value of the type, what is read from a node) for each number that nodes of all trees have.
template <class Use>
void for_each_field(Use&& use) {
    use("kind", uint8_t{}, [](const GrownNode& n) { return n.kind; });
    use("feature", int32_t{}, [](const GrownNode& n) { return n.feature; });
    use("threshold", double{}, [](const GrownNode& n) { return n.threshold; });
    use("left", int32_t{}, [](const GrownNode& n) { return n.left; });
    use("right", int32_t{}, [](const GrownNode& n) { return n.right; });
    use("missing_left", uint8_t{}, [](const GrownNode& n) { return n.missing_left; });
    use("gain", double{}, [](const GrownNode& n) { return n.gain; });
    use("n_rows", int64_t{}, [](const GrownNode& n) { return n.n_rows; });
}

template <class T, class Get>
auto read_field(const Trees& trees, Get get) {
    return collect<T>(
        trees, [](const GrownTree& tree) { return tree.nodes.size(); },
        [get](const GrownTree& tree, T* out) {
            for (const GrownNode& node : tree.nodes) *out++ = static_cast<T>(get(node));
        });
}

auto codes_of(const Trees& trees) {
    return read_field<Code>(trees, [](const GrownNode& n) { return n.code; });
}

// Where the words of each node begin, and the words.
nb::tuple category_sets(const Trees& trees) {
    size_t n_nodes = 0;
    for (const GrownTree* tree : trees) n_nodes += tree->nodes.size();
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

// Where the terms of each node begin; their features, weights and fills.
nb::tuple projections(const Trees& trees) {
    std::vector<int64_t> start{0};
    std::vector<int32_t> feature;
    std::vector<double> weight, fill;
    for (const GrownTree* tree : trees)
        for (const GrownNode& node : tree->nodes) {
            for (const ProjectionTerm& term : tree->terms_of(node)) {
                feature.push_back(term.feature);
                weight.push_back(term.weight);
                fill.push_back(term.fill);
            }
            start.push_back(static_cast<int64_t>(feature.size()));
        }
    return nb::make_tuple(to_numpy<int64_t>(start), to_numpy<int32_t>(feature), to_numpy<double>(weight),
                          to_numpy<double>(fill));
}

auto tree_sizes(const GrownForest& forest) {
    std::vector<int64_t> sizes;
    for (const GrownTree& tree : forest.trees) sizes.push_back(static_cast<int64_t>(tree.nodes.size()));
    return to_numpy<int64_t>(sizes);
}

auto values_of_nodes(const GrownForest& forest) {
    return collect<double>(
        trees_of(forest), [](const GrownTree& tree) { return tree.values.size(); },
        [](const GrownTree& tree, double* out) { std::copy(tree.values.begin(), tree.values.end(), out); });
}

// Tree after tree, all fields of each: its nodes stay in the cache.
nb::dict join_trees(const Trees& trees) {
    std::vector<size_t> start{0};
    for (const GrownTree* tree : trees) start.push_back(start.back() + tree->nodes.size());
    nb::dict joined;
    std::vector<std::function<void(const GrownTree&, size_t)>> writers;
    for_each_field([&](const char* name, auto type, auto get) {
        using T = decltype(type);
        std::unique_ptr<T[]> items(new T[start.back()]);
        T* data = items.get();
        joined[name] = nb::cast(own_numpy(std::move(items), start.back()));
        writers.push_back([data, get](const GrownTree& tree, size_t first) {
            T* out = data + first;
            for (const GrownNode& node : tree.nodes) *out++ = static_cast<T>(get(node));
        });
    });
    parallel_for(static_cast<int64_t>(trees.size()), 2, [&](int64_t i, int) {
        for (const auto& write : writers) write(*trees[i], start[i]);
    });
    joined["sets"] = category_sets(trees);
    return joined;
}

template <class Grown>
void bind_fields(nb::class_<Grown>& cls) {
    for_each_field([&](const char* name, auto type, auto get) {
        auto read = [get](const Grown& grown) { return read_field<decltype(type)>(trees_of(grown), get); };
        cls.def_prop_ro(name, read, nb::rv_policy::automatic);
    });
    cls.def_prop_ro(
        "sets", [](const Grown& grown) { return category_sets(trees_of(grown)); }, nb::rv_policy::automatic);
}

void bind_tree(nb::module_& m) {
    nb::class_<GrownTree> tree(m, "GrownTree", "A tree grown from gradients.");
    bind_fields(tree);
    tree.def_prop_ro(
            "code", [](const GrownTree& t) { return codes_of(trees_of(t)); }, nb::rv_policy::automatic)
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
    nb::class_<GrownForest> forest(m, "GrownForest", "Trees of impurity or isolation.");
    bind_fields(forest);
    auto add = [&](const char* name, double GrownNode::* member) {
        auto read = [member](const GrownForest& grown) {
            return read_field<double>(trees_of(grown), [member](const GrownNode& n) { return n.*member; });
        };
        forest.def_prop_ro(name, read, nb::rv_policy::automatic);
    };
    add("risk", &GrownNode::risk);
    add("weight", &GrownNode::weight);
    forest
        .def_prop_ro(
            "projections", [](const GrownForest& grown) { return projections(trees_of(grown)); },
            nb::rv_policy::automatic)
        .def_prop_ro("sizes", &tree_sizes, nb::rv_policy::automatic)
        .def_prop_ro("values", &values_of_nodes, nb::rv_policy::automatic)
        .def("extend", &GrownForest::extend, nb::arg("more"))
        .def_ro("width", &GrownForest::width);
}

}  // namespace

void bind_grown(nb::module_& m) {
    bind_tree(m);
    bind_forest(m);
    m.def(
        "join_trees",
        [](const Trees& trees) {
            nb::dict joined = join_trees(trees);
            joined["code"] = nb::cast(codes_of(trees));
            return joined;
        },
        nb::arg("trees"), "The fields of the nodes of all trees, one tree after the other.");
    m.def("join_trees", [](const GrownForest& forest) { return join_trees(trees_of(forest)); }, nb::arg("trees"));
}

}  // namespace arboretum
