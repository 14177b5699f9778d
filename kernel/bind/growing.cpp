// kernel/grow/gradient/grower.hpp, kernel/leaves/leaves.hpp, kernel/leaves/steps.hpp
#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "bind/row_leaves.hpp"
#include "grow/gradient/grower.hpp"
#include "leaves/leaves.hpp"
#include "leaves/steps.hpp"

namespace arboretum {

namespace {

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

template <class Real>
GrownTree grow(Grower& self, Vector<const Real> gradients, Vector<const Real> hessians,
               std::optional<Vector<const Row>> rows, const TreeParams& params, uint64_t seed,
               std::optional<Vector<const double>> factor) {
    return self.grow(gradients.data(), hessians.data(), rows ? rows->data() : nullptr,
                     factor ? factor->data() : nullptr, static_cast<int64_t>(rows ? rows->size() : gradients.size()),
                     params, seed);
}

// A tree from each row of the gradients, each by a grower of its own.
template <class Real>
std::vector<GrownTree> grow_each(const std::vector<Grower*>& growers, Matrix<const Real> gradients,
                                 Matrix<const Real> hessians, std::optional<Vector<const Row>> rows,
                                 const TreeParams& params, const std::vector<uint64_t>& seeds,
                                 std::optional<Vector<const double>> factor) {
    const auto n = static_cast<int64_t>(seeds.size()), width = static_cast<int64_t>(gradients.shape(1));
    if (n > static_cast<int64_t>(growers.size()) || gradients.shape(0) != seeds.size() ||
        hessians.shape(0) != seeds.size() || hessians.shape(1) != gradients.shape(1))
        throw nb::value_error("expected a grower, and a row of gradients and hessians, for each seed");
    std::vector<GrownTree> trees(n);
    GilReleased released;
    parallel_for(n, static_cast<int>(n), [&](int64_t i, int) {
        trees[i] = growers[i]->grow(gradients.data() + i * width, hessians.data() + i * width,
                                    rows ? rows->data() : nullptr, factor ? factor->data() : nullptr,
                                    static_cast<int64_t>(rows ? rows->size() : gradients.shape(1)), params, seeds[i]);
    });
    return trees;
}

template <class Real>
void bind_grow_each(nb::module_& m) {
    m.def("grow_each", &grow_each<Real>, nb::arg("growers"), nb::arg("gradients").noconvert(),
          nb::arg("hessians").noconvert(), nb::arg("rows").noconvert().none(), nb::arg("params"), nb::arg("seeds"),
          nb::arg("factor").noconvert().none());
}

}  // namespace

void bind_growing(nb::module_& m) {
    bind_params(m);
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
    nb::class_<Grower> grower(m, "Grower");
    grower.def(nb::init<const BinnedData&, int>(), nb::keep_alive<1, 2>(), nb::arg("data"), nb::arg("threads"))
        .def("grow", &grow<float>, nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
             nb::arg("rows").noconvert().none(), nb::arg("params"), nb::arg("seed"),
             nb::arg("factor").noconvert() = nb::none(), Released())
        .def("grow", &grow<double>, nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
             nb::arg("rows").noconvert().none(), nb::arg("params"), nb::arg("seed"),
             nb::arg("factor").noconvert() = nb::none(), Released());
    bind_leaves(grower);
    bind_grow_each<float>(m);
    bind_grow_each<double>(m);
}

}  // namespace arboretum
