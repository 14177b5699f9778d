// kernel/losses/losses.hpp
#include "losses/losses.hpp"

#include "bind/arrays.hpp"

namespace arboretum {

namespace {

template <class Real>
void gradients(LossKind kind, double parameter, Vector<const double> y, Vector<const double> raw,
               std::optional<Vector<const double>> weight, Vector<Real> gradients, Vector<Real> hessians, int threads) {
    GradientTask<Real> task{y.data(),  raw.data(),       weight ? weight->data() : nullptr,
                            parameter, gradients.data(), hessians.data()};
    compute_gradients(kind, task, static_cast<int64_t>(y.size()), threads);
}

template <class Real>
void softmax_gradients(Vector<const double> y, Matrix<const double> raw, std::optional<Vector<const double>> weight,
                       Matrix<Real> gradients, Matrix<Real> hessians, int threads) {
    SoftmaxTask<Real> task{y.data(),
                           raw.data(),
                           weight ? weight->data() : nullptr,
                           static_cast<int64_t>(raw.shape(1)),
                           static_cast<int64_t>(raw.shape(0)),
                           gradients.data(),
                           hessians.data()};
    compute_softmax_gradients(task, threads);
}

template <class Real>
void bind_gradients(nb::module_& m) {
    m.def("gradients", &gradients<Real>, nb::arg("kind"), nb::arg("parameter"), nb::arg("y").noconvert(),
          nb::arg("raw").noconvert(), nb::arg("weight").noconvert().none(), nb::arg("gradients").noconvert(),
          nb::arg("hessians").noconvert(), nb::arg("threads"), Released());
    m.def("softmax_gradients", &softmax_gradients<Real>, nb::arg("y").noconvert(), nb::arg("raw").noconvert(),
          nb::arg("weight").noconvert().none(), nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
          nb::arg("threads"), Released());
}

}  // namespace

void bind_losses(nb::module_& m) {
    nb::enum_<LossKind>(m, "LossKind")
        .value("squared_error", LossKind::squared)
        .value("absolute_error", LossKind::absolute)
        .value("quantile", LossKind::quantile)
        .value("huber", LossKind::huber)
        .value("poisson", LossKind::poisson)
        .value("gamma", LossKind::gamma)
        .value("tweedie", LossKind::tweedie)
        .value("log_loss", LossKind::logistic);
    m.def(
        "sigmoid_pairs",
        [](Matrix<const double> raw, Matrix<double> out) {
            sigmoid_pairs(raw.data(), static_cast<int64_t>(raw.shape(0)), out.data());
        },
        nb::arg("raw").noconvert(), nb::arg("out").noconvert());
    bind_gradients<float>(m);
    bind_gradients<double>(m);
}

}  // namespace arboretum
