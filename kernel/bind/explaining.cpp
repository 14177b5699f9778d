// kernel/explain/shap_forest.hpp
#include "bind/forest_view.hpp"
#include "explain/shap_forest.hpp"

namespace arboretum {

namespace {

using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

RawColumn raw_column(const Column& array, int64_t n_rows) {
    if (static_cast<int64_t>(array.shape(0)) != n_rows)
        throw nb::value_error(("every column must have " + std::to_string(n_rows) + " values").c_str());
    const ValueType type = array.dtype() == nb::dtype<float>()    ? ValueType::float32
                           : array.dtype() == nb::dtype<double>() ? ValueType::float64
                                                                  : ValueType::category;
    if (type == ValueType::category && array.dtype() != nb::dtype<int32_t>())
        throw nb::type_error("a column must be float32, float64 or int32");
    return {static_cast<const char*>(array.data()), array.stride(0) * static_cast<int64_t>(array.itemsize()), type};
}

std::vector<RawColumn> raw_columns(const std::vector<Column>& arrays, int64_t n_rows) {
    std::vector<RawColumn> columns;
    for (const Column& array : arrays) columns.push_back(raw_column(array, n_rows));
    return columns;
}

void explain(const nb::dict& arrays, const std::vector<Column>& columns, int64_t n_rows,
             const std::vector<Column>& background, int64_t n_background, Vector<double> out, bool interactions,
             bool average, int threads) {
    const ForestView forest = forest_view(arrays);
    const std::vector<RawColumn> rows = raw_columns(columns, n_rows), others = raw_columns(background, n_background);
    GilReleased released;
    explain_forest(forest, static_cast<int64_t>(rows.size()), {rows.data(), n_rows}, {others.data(), n_background},
                   average ? Unknown::average : Unknown::missing, interactions, threads, out.data());
}

void expected_values(const nb::dict& arrays, Vector<double> out) {
    const ForestView forest = forest_view(arrays);
    GilReleased released;
    add_expected(forest, out.data());
}

}  // namespace

void bind_explaining(nb::module_& m) {
    m.def("shap_values", &explain, nb::arg("arrays"), nb::arg("columns"), nb::arg("n_rows"), nb::arg("background"),
          nb::arg("n_background"), nb::arg("out").noconvert(), nb::arg("interactions"), nb::arg("average"),
          nb::arg("threads"),
          "Fill out (rows × columns (× columns) × outputs, which holds zeros) with Shapley values of the columns.");
    m.def("expected_values", &expected_values, nb::arg("arrays"), nb::arg("out").noconvert(),
          "Add to out (outputs) the mean of the leaves of each tree by training rows.");
}

}  // namespace arboretum
