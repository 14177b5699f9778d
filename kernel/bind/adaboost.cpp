// kernel/losses/adaboost.hpp
#include "losses/adaboost.hpp"

#include "bind/arrays.hpp"
#include "grow/gradient/grower.hpp"

namespace arboretum {

namespace {

template <class Real>
void bind_reweight(nb::module_& m) {
    m.def(
        "reweight",
        [](const Grower& grower, Vector<const double> factors, Vector<double> weight, Vector<Real> gradients,
           Vector<Real> hessians, int threads) {
            reweight(grower.leaves().leaf_of_row(), factors.data(), weight.data(), gradients.data(), hessians.data(),
                     threads);
        },
        nb::arg("grower"), nb::arg("factors").noconvert(), nb::arg("weight").noconvert(),
        nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(), nb::arg("threads"), Released());
}

}  // namespace

void bind_adaboost(nb::module_& m) {
    bind_reweight<float>(m);
    bind_reweight<double>(m);
}

}  // namespace arboretum
