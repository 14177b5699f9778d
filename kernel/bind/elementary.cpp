// Elementary functions of whole arrays.
#include "base/elementary.hpp"

#include "bind/arrays.hpp"

namespace arboretum {

void bind_elementary(nb::module_& m) {
    m.def(
        "exponentials",
        [](Vector<const double> x, Vector<double> out) {
            for (size_t i = 0; i < x.size(); ++i) out.data()[i] = exponential(x.data()[i]);
        },
        nb::arg("x").noconvert(), nb::arg("out").noconvert(), Released());
    m.def(
        "logarithms",
        [](Vector<const double> x, Vector<double> out) {
            for (size_t i = 0; i < x.size(); ++i) out.data()[i] = logarithm(x.data()[i]);
        },
        nb::arg("x").noconvert(), nb::arg("out").noconvert(), Released());
    m.def(
        "logarithms2",
        [](Vector<const double> x, Vector<double> out) {
            for (size_t i = 0; i < x.size(); ++i) out.data()[i] = logarithm2(x.data()[i]);
        },
        nb::arg("x").noconvert(), nb::arg("out").noconvert(), Released());
    m.def(
        "error_complements",
        [](Vector<const double> x, Vector<double> out) {
            for (size_t i = 0; i < x.size(); ++i) out.data()[i] = error_complement(x.data()[i]);
        },
        nb::arg("x").noconvert(), nb::arg("out").noconvert(), Released());
}

}  // namespace arboretum
