// kernel/losses/ordinal.hpp
#include "losses/ordinal.hpp"

#include "bind/arrays.hpp"

namespace arboretum {

namespace {

OrdinalRows rows_of(const Vector<const double>& y, const Vector<const double>& raw,
                    const std::optional<Vector<const double>>& weight) {
    return {y.data(), raw.data(), weight ? weight->data() : nullptr, static_cast<int64_t>(y.size())};
}

std::vector<double> bounds_of(const Vector<const double>& thresholds) {
    return class_bounds(thresholds.data(), static_cast<int64_t>(thresholds.size()));
}

template <class Real>
void bind_gradients(nb::module_& m) {
    m.def(
        "ordinal_gradients",
        [](Vector<const double> y, Vector<const double> raw, std::optional<Vector<const double>> weight,
           Vector<const double> thresholds, Vector<Real> gradients, Vector<Real> hessians, int threads) {
            compute_ordinal_gradients(rows_of(y, raw, weight), bounds_of(thresholds), threads, gradients.data(),
                                      hessians.data());
        },
        nb::arg("y").noconvert(), nb::arg("raw").noconvert(), nb::arg("weight").noconvert().none(),
        nb::arg("thresholds").noconvert(), nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
        nb::arg("threads"), Released());
}

}  // namespace

void bind_ordinal(nb::module_& m) {
    bind_gradients<float>(m);
    bind_gradients<double>(m);
    m.def(
        "ordinal_sums",
        [](Vector<const double> y, Vector<const double> raw, std::optional<Vector<const double>> weight,
           Vector<const double> thresholds, double unit, int threads, Matrix<int64_t> out) {
            static_assert(sizeof(OrdinalSums) == 5 * sizeof(int64_t));
            sum_ordinal(rows_of(y, raw, weight), bounds_of(thresholds), unit, threads,
                        reinterpret_cast<OrdinalSums*>(out.data()));
        },
        nb::arg("y").noconvert(), nb::arg("raw").noconvert(), nb::arg("weight").noconvert().none(),
        nb::arg("thresholds").noconvert(), nb::arg("unit"), nb::arg("threads"), nb::arg("out").noconvert(), Released());
}

}  // namespace arboretum
