// kernel/leaves/leaf_sums.hpp
#include "leaves/leaf_sums.hpp"

#include "bind/arrays.hpp"

namespace arboretum {

namespace {

// nodes × (gradient, hessian)
GradientPair* pairs(const Matrix<double>& out) { return reinterpret_cast<GradientPair*>(out.data()); }

LeafStep step_of(const Vector<const uint32_t>& leaf, const Vector<const double>& values) {
    return {leaf.data(), values.data(), static_cast<int64_t>(leaf.size()), static_cast<int64_t>(values.size())};
}

}  // namespace

void bind_leaf_sums(nb::module_& m) {
    m.def(
        "leaf_gradients",
        [](LossKind kind, double parameter, Vector<const double> y, Vector<const double> raw,
           std::optional<Vector<const double>> weight, Vector<const uint32_t> leaf, Vector<const double> values,
           int threads, Matrix<double> out) {
            sum_gradients_by_leaf(kind, parameter, y.data(), raw.data(), weight ? weight->data() : nullptr,
                                  step_of(leaf, values), threads, pairs(out));
        },
        nb::arg("kind"), nb::arg("parameter"), nb::arg("y").noconvert(), nb::arg("raw").noconvert(),
        nb::arg("weight").noconvert().none(), nb::arg("leaf").noconvert(), nb::arg("values").noconvert(),
        nb::arg("threads"), nb::arg("out").noconvert(), Released());
    m.def(
        "softmax_leaf_gradients",
        [](Vector<const double> y, Matrix<const double> raw, std::optional<Vector<const double>> weight, int64_t output,
           Vector<const uint32_t> leaf, Vector<const double> values, int threads, Matrix<double> out) {
            sum_softmax_by_leaf(y.data(), raw.data(), weight ? weight->data() : nullptr,
                                static_cast<int64_t>(raw.shape(0)), output, step_of(leaf, values), threads, pairs(out));
        },
        nb::arg("y").noconvert(), nb::arg("raw").noconvert(), nb::arg("weight").noconvert().none(), nb::arg("output"),
        nb::arg("leaf").noconvert(), nb::arg("values").noconvert(), nb::arg("threads"), nb::arg("out").noconvert(),
        Released());
}

}  // namespace arboretum
