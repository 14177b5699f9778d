// kernel/data/target_statistics.hpp
#include <nanobind/stl/tuple.h>

#include "bind/arrays.hpp"
#include "data/target_statistics.hpp"

namespace arboretum {

namespace {

template <class T>
std::span<const T> as_span(const Vector<const T>& array) {
    return {array.data(), array.size()};
}

using OptionalWeight = std::optional<Vector<const double>>;

WeightedTarget weighted(const Vector<const double>& target, const OptionalWeight& weight) {
    return {as_span(target), weight ? weight->data() : nullptr};
}

void bind_levels(nb::module_& m) {
    m.def(
        "combined_keys",
        [](const std::vector<Vector<const int32_t>>& codes, const std::vector<int64_t>& radices, int threads,
           Vector<int64_t> out) {
            std::vector<CodeColumn> columns;
            for (size_t i = 0; i < codes.size(); ++i) columns.push_back({codes[i].data(), radices[i]});
            combined_keys(columns, static_cast<int64_t>(out.size()), threads, out.data());
        },
        nb::arg("codes"), nb::arg("radices"), nb::arg("threads"), nb::arg("out").noconvert(), Released());
    m.def(
        "find_levels",
        [](Vector<const int64_t> keys, Vector<const int64_t> known, int threads, Vector<int32_t> out) {
            find_levels(as_span(keys), as_span(known), threads, out.data());
        },
        nb::arg("keys").noconvert(), nb::arg("known").noconvert(), nb::arg("threads"), nb::arg("out").noconvert(),
        Released());
}

void bind_means(nb::module_& m) {
    nb::enum_<TargetPart>(m, "TargetPart")
        .value("equal", TargetPart::equal)
        .value("above", TargetPart::above)
        .value("number", TargetPart::number);
    nb::class_<OrderedMean>(m, "OrderedMean")
        .def(
            "__init__",
            [](OrderedMean* self, int64_t source, TargetPart part, double at, double prior, double prior_weight,
               int64_t column) { new (self) OrderedMean{source, part, at, prior, prior_weight, column}; },
            nb::arg("source"), nb::arg("part"), nb::arg("at"), nb::arg("prior"), nb::arg("prior_weight"),
            nb::arg("column"));
    using WordsBefore = std::tuple<Matrix<const int64_t>, Matrix<const int64_t>, int, int>;
    using Columns = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
    m.def(
        "ordered_means",
        [](const std::vector<OrderedMean>& means, const std::vector<Vector<const int32_t>>& levels,
           const std::vector<int64_t>& n_levels, Vector<const double> target, OptionalWeight weight,
           Matrix<const Row> orders, int threads, Columns out, const std::vector<WordsBefore>& before) {
            std::vector<LevelColumn> sources;
            for (size_t i = 0; i < levels.size(); ++i) sources.push_back({levels[i].data(), n_levels[i]});
            std::vector<SumsBefore> sums;
            for (const auto& [of_weight, of_value, weight_power, value_power] : before)
                sums.push_back({of_weight.data(), of_value.data(), weight_power, value_power});
            ordered_means(means, sources, weighted(target, weight), {orders.data(), orders.size()}, sums,
                          static_cast<int64_t>(out.shape(1)), threads, out.data());
        },
        nb::arg("means"), nb::arg("levels"), nb::arg("n_levels"), nb::arg("target").noconvert(),
        nb::arg("weight").noconvert().none(), nb::arg("orders").noconvert(), nb::arg("threads"),
        nb::arg("out").noconvert(), nb::arg("before") = std::vector<WordsBefore>(), Released());
}

}  // namespace

void bind_encoding(nb::module_& m) {
    m.def(
        "draw_orders",
        [](const std::vector<uint64_t>& keys, int threads, Matrix<Row> out) {
            draw_orders(static_cast<int64_t>(out.shape(1)), keys, threads, out.data());
        },
        nb::arg("keys"), nb::arg("threads"), nb::arg("out").noconvert(), Released());
    bind_levels(m);
    bind_means(m);
    m.def(
        "ordered_losses",
        [](const std::vector<Vector<const int32_t>>& columns, Matrix<const int32_t> pairs, Vector<const double> target,
           OptionalWeight weight, const std::vector<double>& priors, int threads, Vector<double> out) {
            std::vector<const int32_t*> codes;
            for (const auto& column : columns) codes.push_back(column.data());
            ordered_losses(codes, {pairs.data(), pairs.size()}, weighted(target, weight), priors, threads, out.data());
        },
        nb::arg("columns"), nb::arg("pairs").noconvert(), nb::arg("target").noconvert(),
        nb::arg("weight").noconvert().none(), nb::arg("priors"), nb::arg("threads"), nb::arg("out").noconvert(),
        Released());
}

}  // namespace arboretum
