// kernel/explain/influence.hpp
#include "explain/influence.hpp"

#include "bind/arrays.hpp"

namespace arboretum {

void bind_influence(nb::module_& m) {
    m.def(
        "influence_of_round",
        [](Matrix<const int32_t> leaf, Vector<const int32_t> output, Matrix<const double> removal,
           Matrix<const double> step, Matrix<const double> hessian, std::optional<Matrix<const double>> probability,
           Matrix<const double> seed, Matrix<const int32_t> leaf_of_new,
           nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu> adjoint, Matrix<double> influence,
           int threads) {
            const InfluenceRound round{static_cast<int64_t>(leaf.shape(1)),
                                       static_cast<int64_t>(hessian.shape(0)),
                                       static_cast<int64_t>(leaf.shape(0)),
                                       static_cast<int64_t>(step.shape(1)),
                                       leaf.data(),
                                       output.data(),
                                       removal.data(),
                                       step.data(),
                                       hessian.data(),
                                       probability ? probability->data() : nullptr};
            const InfluenceState state{static_cast<int64_t>(seed.shape(0)), seed.data(), leaf_of_new.data(),
                                       adjoint.data(), influence.data()};
            influence_of_round(round, state, threads);
        },
        nb::arg("leaf").noconvert(), nb::arg("output").noconvert(), nb::arg("removal").noconvert(),
        nb::arg("step").noconvert(), nb::arg("hessian").noconvert(), nb::arg("probability").noconvert().none(),
        nb::arg("seed").noconvert(), nb::arg("leaf_of_new").noconvert(), nb::arg("adjoint").noconvert(),
        nb::arg("influence").noconvert(), nb::arg("threads"), Released());
}

}  // namespace arboretum
