// kernel/grow/impurity/bagging.hpp
#include "grow/impurity/bagging.hpp"

#include "bind/arrays.hpp"

namespace arboretum {

namespace {

template <class T>
std::vector<std::remove_const_t<T>> to_vector(const Vector<T>& array) {
    return {array.data(), array.data() + array.size()};
}

void bind_rules(nb::module_& m) {
    nb::enum_<Criterion>(m, "Criterion")
        .value("gini", Criterion::gini)
        .value("entropy", Criterion::entropy)
        .value("squared_error", Criterion::squared_error)
        .value("poisson", Criterion::poisson)
        .value("absolute_error", Criterion::absolute_error)
        .value("log_rank", Criterion::log_rank)
        .value("kl", Criterion::kl)
        .value("euclidean", Criterion::euclidean)
        .value("chi2", Criterion::chi2);
    nb::class_<Treatment>(m, "Treatment")
        .def(
            "__init__",
            [](Treatment* self, Vector<const int32_t> arms, int n_arms, int64_t min_rows_arm, double parent_weight,
               bool balanced_gain) {
                new (self) Treatment{arms.data(), n_arms, min_rows_arm, parent_weight, balanced_gain};
            },
            nb::keep_alive<1, 2>(), nb::arg("arms").noconvert(), nb::arg("n_arms"), nb::arg("min_rows_arm"),
            nb::arg("parent_weight"), nb::arg("balanced_gain"));
    nb::class_<SplitRules>(m, "SplitRules")
        .def(nb::init<>())
        .def_rw("random_thresholds", &SplitRules::random_thresholds)
        .def_rw("max_depth", &SplitRules::max_depth)
        .def_rw("max_leaf_nodes", &SplitRules::max_leaf_nodes)
        .def_rw("min_samples_split", &SplitRules::min_samples_split)
        .def_rw("min_samples_leaf", &SplitRules::min_samples_leaf)
        .def_rw("min_weight_leaf", &SplitRules::min_weight_leaf)
        .def_rw("min_impurity_decrease", &SplitRules::min_impurity_decrease)
        .def_rw("max_features", &SplitRules::max_features)
        .def_rw("monotone", &SplitRules::monotone);
    nb::class_<CodeEdges>(m, "CodeEdges")
        .def(
            "__init__",
            [](CodeEdges* self, Vector<const int64_t> start, Vector<const double> lower, Vector<const double> upper) {
                if (lower.size() != upper.size()) throw nb::value_error("expected as many lower as upper edges");
                new (self) CodeEdges(to_vector(start), {lower.data(), lower.size()}, {upper.data(), upper.size()});
            },
            nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::arg("start"), nb::arg("lower").noconvert(),
            nb::arg("upper").noconvert());
    nb::class_<Projections>(m, "Projections")
        .def(
            "__init__",
            [](Projections* self, Matrix<const double> values, Vector<const int32_t> features,
               Vector<const double> scale, Vector<const double> fill, int n_projections, double density) {
                new (self) Projections(values.data(), to_vector(features), to_vector(scale), to_vector(fill),
                                       n_projections, density);
            },
            nb::keep_alive<1, 2>(), nb::arg("values").noconvert(), nb::arg("features"), nb::arg("scale"),
            nb::arg("fill"), nb::arg("n_projections"), nb::arg("density"));
    nb::class_<Bootstrap>(m, "Bootstrap")
        .def(nb::init<>())
        .def(
            "__init__",
            [](Bootstrap* self, int64_t n_draws, Vector<const Row> pool, Vector<const double> cumulative,
               Vector<const int64_t> strata) {
                new (self) Bootstrap{n_draws, to_vector(pool), to_vector(cumulative), to_vector(strata)};
            },
            nb::arg("n_draws"), nb::arg("pool"), nb::arg("cumulative"), nb::arg("strata"))
        .def_ro("n_draws", &Bootstrap::n_draws)
        .def(
            "copies",
            [](const Bootstrap& self, uint64_t seed, int64_t tree, int64_t n_rows) {
                std::vector<uint32_t> copies;
                {
                    GilReleased released;
                    self.draw_copies(bootstrap_key(seed, tree), n_rows, copies);
                }
                return to_numpy<uint32_t>(copies);
            },
            nb::arg("seed"), nb::arg("tree"), nb::arg("n_rows"));
}

}  // namespace

void bind_bagging(nb::module_& m) {
    m.def(
        "content_order",
        [](const BinnedData& data, const CodeEdges* edges, std::optional<Matrix<const int32_t>> classes,
           std::optional<Matrix<const double>> numbers, int threads, const Projections* projections,
           std::optional<Vector<const double>> weight) {
            const int n_outputs = static_cast<int>(classes ? classes->shape(1) : numbers->shape(1));
            return to_numpy<Row>(content_order(data, edges, projections != nullptr ? *projections : Projections(),
                                               classes ? classes->data() : nullptr, numbers ? numbers->data() : nullptr,
                                               n_outputs, weight ? weight->data() : nullptr, threads));
        },
        nb::arg("data"), nb::arg("edges").none(), nb::arg("classes").noconvert().none(),
        nb::arg("numbers").noconvert().none(), nb::arg("threads"), nb::arg("projections").none() = nb::none(),
        nb::arg("weight").noconvert().none() = nb::none());
    bind_rules(m);
    nb::class_<ForestGrower>(m, "ForestGrower")
        .def(
            "__init__",
            [](ForestGrower* self, const BinnedData& data, Criterion criterion, std::vector<int32_t> n_classes,
               std::optional<Matrix<const int32_t>> classes, std::optional<Matrix<const double>> numbers,
               std::optional<Vector<const double>> weight, const SplitRules& rules, const CodeEdges& edges,
               const Bootstrap& bootstrap, int threads, const Projections* projections, const Treatment* treatment) {
                Target target;
                target.n_rows = data.n_rows();
                target.criterion = criterion;
                target.n_outputs = static_cast<int>(classes ? classes->shape(1) : numbers->shape(1));
                target.n_classes = std::move(n_classes);
                target.classes = classes ? classes->data() : nullptr;
                target.numbers = numbers ? numbers->data() : nullptr;
                target.weight = weight ? weight->data() : nullptr;
                if (treatment != nullptr) target.treatment = *treatment;
                new (self) ForestGrower(data, std::move(target), rules, edges,
                                        projections != nullptr ? *projections : Projections(), bootstrap, threads);
            },
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(),
            nb::keep_alive<1, 9>(), nb::keep_alive<1, 12>(), nb::keep_alive<1, 13>(), nb::arg("data"),
            nb::arg("criterion"), nb::arg("n_classes"), nb::arg("classes").noconvert().none(),
            nb::arg("numbers").noconvert().none(), nb::arg("weight").noconvert().none(), nb::arg("rules"),
            nb::arg("edges"), nb::arg("bootstrap"), nb::arg("threads"), nb::arg("projections").none() = nb::none(),
            nb::arg("treatment").none() = nb::none())
        .def("grow", &ForestGrower::grow, nb::arg("first"), nb::arg("n"), nb::arg("seed"), nb::arg("with_risk"),
             Released());
}

}  // namespace arboretum
