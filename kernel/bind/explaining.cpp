// kernel/explain/shap_forest.hpp, kernel/explain/path_contributions.hpp
#include "bind/columns.hpp"
#include "bind/forest_view.hpp"
#include "explain/path_contributions.hpp"
#include "explain/shap_forest.hpp"

namespace arboretum {

namespace {

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

double path_contributions(const nb::dict& arrays, const std::vector<Column>& columns, bool average, Matrix<double> out,
                          int threads) {
    const ForestView forest = forest_view(arrays);
    const int64_t n_rows = static_cast<int64_t>(out.shape(0));
    const std::vector<RawColumn> rows = raw_columns(columns, n_rows);
    GilReleased released;
    return add_path_contributions(forest, rows.data(), n_rows, static_cast<int64_t>(out.shape(1)),
                                  average ? Unknown::average : Unknown::missing, threads, out.data());
}

}  // namespace

void bind_explaining(nb::module_& m) {
    m.def("shap_values", &explain, nb::arg("arrays"), nb::arg("columns"), nb::arg("n_rows"), nb::arg("background"),
          nb::arg("n_background"), nb::arg("out").noconvert(), nb::arg("interactions"), nb::arg("average"),
          nb::arg("threads"),
          "Fill out (rows × columns (× columns) × outputs, which holds zeros) with Shapley values of the columns.");
    m.def("expected_values", &expected_values, nb::arg("arrays"), nb::arg("out").noconvert(),
          "Add to out (outputs) the mean of the leaves of each tree by training rows.");
    m.def(
        "path_contributions", &path_contributions, nb::arg("arrays"), nb::arg("columns"), nb::arg("average"),
        nb::arg("out").noconvert(), nb::arg("threads"),
        "Add to out (rows × columns) what the splits of each row's paths change; give the mean that they start from.");
}

}  // namespace arboretum
