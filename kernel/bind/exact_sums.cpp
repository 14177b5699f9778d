// kernel/base/exact_sums.hpp, kernel/base/long_sums.hpp, kernel/base/whole_sums.hpp
#include "base/exact_sums.hpp"

#include "base/exact_sum.hpp"
#include "base/long_sums.hpp"
#include "base/whole_sums.hpp"
#include "bind/arrays.hpp"

namespace arboretum {

namespace {

Terms terms_of(const Vector<const double>& values, const std::optional<Vector<const double>>& factor) {
    return {values.data(), factor ? factor->data() : nullptr, static_cast<int64_t>(values.size())};
}

}  // namespace

void bind_exact_sums(nb::module_& m) {
    m.attr("EXACT_SUM_WORDS") = int{ExactSum::n_words};
    m.attr("LONG_SUM_WORDS") = int{LongSum::n_words};
    m.def(
        "exact_sum",
        [](Vector<const double> values, std::optional<Vector<const double>> factor, int threads, Vector<int64_t> out) {
            sum_exactly(terms_of(values, factor), threads, out.data());
        },
        nb::arg("values").noconvert(), nb::arg("factor").noconvert().none(), nb::arg("threads"),
        nb::arg("out").noconvert(), Released());
    m.def(
        "rounded_sum", [](Vector<const int64_t> words) { return round_sum(words.data()); },
        nb::arg("words").noconvert());
    m.def(
        "group_sums",
        [](Vector<const double> values, std::optional<Vector<const double>> factor, Vector<const uint32_t> group,
           Vector<double> out) {
            sum_groups(terms_of(values, factor), group.data(), static_cast<int64_t>(out.size()), out.data());
        },
        nb::arg("values").noconvert(), nb::arg("factor").noconvert().none(), nb::arg("group").noconvert(),
        nb::arg("out").noconvert(), Released());
    m.def(
        "largest_size",
        [](Vector<const double> values, std::optional<Vector<const double>> factor) {
            return largest_size(terms_of(values, factor));
        },
        nb::arg("values").noconvert(), nb::arg("factor").noconvert().none(), Released());
    m.def("long_sum_power", &LongSum::power_of, nb::arg("largest"), nb::arg("n_terms"));
    m.def(
        "group_sum_words",
        [](Vector<const double> values, std::optional<Vector<const double>> factor, Vector<const uint32_t> group,
           int power, Matrix<int64_t> out) {
            sum_group_words(terms_of(values, factor), group.data(), static_cast<int64_t>(out.shape(0)), power,
                            out.data());
        },
        nb::arg("values").noconvert(), nb::arg("factor").noconvert().none(), nb::arg("group").noconvert(),
        nb::arg("power"), nb::arg("out").noconvert(), Released());
    m.def(
        "rounded_group_sums",
        [](Matrix<const int64_t> words, int power, Vector<double> out) {
            round_group_words(words.data(), static_cast<int64_t>(out.size()), power, out.data());
        },
        nb::arg("words").noconvert(), nb::arg("power"), nb::arg("out").noconvert(), Released());
    m.def(
        "change_units",
        [](Vector<double> units, Vector<const double> largest, int64_t n_terms, int step) {
            return change_units(units.data(), largest.data(), static_cast<int64_t>(units.size()), n_terms, step);
        },
        nb::arg("units").noconvert(), nb::arg("largest").noconvert(), nb::arg("n_terms"), nb::arg("step"));
    m.def("whole_unit", &whole_unit, nb::arg("largest"), nb::arg("n_terms"), nb::arg("step"));
}

}  // namespace arboretum
