// kernel/grow/threshold_search.hpp
#include "grow/threshold_search.hpp"

#include "bind/columns.hpp"

namespace arboretum {

void bind_threshold_search(nb::module_& m) {
    static_assert(sizeof(BestThreshold) == 6 * sizeof(double));
    nb::class_<ThresholdRules>(m, "ThresholdRules")
        .def(nb::init<double, double, double>(), nb::arg("least"), nb::arg("most"), nb::arg("tie"));
    nb::class_<ThresholdSearch>(m, "ThresholdSearch", "The best thresholds of numeric columns for weighted cases.")
        .def(
            "__init__",
            [](ThresholdSearch* self, const std::vector<Column>& columns, Vector<const int64_t> classes,
               int64_t n_classes, int threads) {
                const std::vector<RawColumn> raw = raw_columns(columns, static_cast<int64_t>(classes.size()));
                const GilReleased released;
                new (self) ThresholdSearch(raw, {classes.data(), classes.size()}, n_classes, threads);
            },
            nb::arg("columns"), nb::arg("classes").noconvert(), nb::arg("n_classes"), nb::arg("threads"))
        .def(
            "find",
            [](const ThresholdSearch& self, Vector<const int64_t> rows, Vector<const double> weight, double total,
               const ThresholdRules& rules, int threads, Matrix<double> out) {
                self.find({{rows.data(), rows.size()}, weight.data(), total}, rules, threads,
                          reinterpret_cast<BestThreshold*>(out.data()));
            },
            nb::arg("rows").noconvert(), nb::arg("weight").noconvert(), nb::arg("total"), nb::arg("rules"),
            nb::arg("threads"), nb::arg("out").noconvert(), Released(),
            "Fill out (columns, 6) with gain, low, high, below, known and n_tries of the best threshold.");
}

}  // namespace arboretum
