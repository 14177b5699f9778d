// kernel/leaves/leaf_sums.hpp
#include "leaves/leaf_sums.hpp"

#include <nanobind/stl/pair.h>

#include "bind/arrays.hpp"

namespace arboretum {

namespace {

// nodes × (gradient, hessian)
WholePair* pairs(const Matrix<int64_t>& out) { return reinterpret_cast<WholePair*>(out.data()); }

LeafStep step_of(const Vector<const uint32_t>& leaf, const Vector<const double>& values,
                 const Vector<const double>& units) {
    return {leaf.data(),
            values.data(),
            static_cast<int64_t>(leaf.size()),
            static_cast<int64_t>(values.size()),
            {units(0), units(1)}};
}

std::pair<double, double> both(const GradientPair& pair) { return {pair.gradient, pair.hessian}; }

}  // namespace

void bind_leaf_sums(nb::module_& m) {
    m.def(
        "leaf_gradients",
        [](LossKind kind, double parameter, Vector<const double> y, Vector<const double> raw,
           std::optional<Vector<const double>> weight, Vector<const uint32_t> leaf, Vector<const double> values,
           Vector<const double> units, int threads, Matrix<int64_t> out) {
            return both(sum_gradients_by_leaf(kind, parameter, y.data(), raw.data(), weight ? weight->data() : nullptr,
                                              step_of(leaf, values, units), threads, pairs(out)));
        },
        nb::arg("kind"), nb::arg("parameter"), nb::arg("y").noconvert(), nb::arg("raw").noconvert(),
        nb::arg("weight").noconvert().none(), nb::arg("leaf").noconvert(), nb::arg("values").noconvert(),
        nb::arg("units").noconvert(), nb::arg("threads"), nb::arg("out").noconvert(), Released());
    m.def(
        "known_leaf_gradients",
        [](Vector<const double> gradients, Vector<const double> hessians, Vector<const uint32_t> leaf,
           Vector<const double> values, Vector<const double> units, int threads, Matrix<int64_t> out) {
            return both(sum_known_by_leaf(gradients.data(), hessians.data(), step_of(leaf, values, units), threads,
                                          pairs(out)));
        },
        nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(), nb::arg("leaf").noconvert(),
        nb::arg("values").noconvert(), nb::arg("units").noconvert(), nb::arg("threads"), nb::arg("out").noconvert(),
        Released());
    m.def(
        "softmax_leaf_gradients",
        [](Vector<const double> y, Matrix<const double> raw, std::optional<Vector<const double>> weight, int64_t output,
           Vector<const uint32_t> leaf, Vector<const double> values, Vector<const double> units, int threads,
           Matrix<int64_t> out) {
            return both(sum_softmax_by_leaf(y.data(), raw.data(), weight ? weight->data() : nullptr,
                                            static_cast<int64_t>(raw.shape(0)), output, step_of(leaf, values, units),
                                            threads, pairs(out)));
        },
        nb::arg("y").noconvert(), nb::arg("raw").noconvert(), nb::arg("weight").noconvert().none(), nb::arg("output"),
        nb::arg("leaf").noconvert(), nb::arg("values").noconvert(), nb::arg("units").noconvert(), nb::arg("threads"),
        nb::arg("out").noconvert(), Released());
}

}  // namespace arboretum
