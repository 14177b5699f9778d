// kernel/leaves/vector_leaves.hpp
#include "leaves/vector_leaves.hpp"

#include "bind/arrays.hpp"

namespace arboretum {

namespace {

template <class Real>
OutputGradients<Real> of_outputs(const Matrix<const Real>& gradients, const Matrix<const Real>& hessians) {
    return {gradients.data(), hessians.data(), static_cast<int64_t>(gradients.shape(0)),
            static_cast<int64_t>(gradients.shape(1))};
}

template <class T>
const T* data_or_null(const std::optional<Vector<const T>>& array) {
    return array ? array->data() : nullptr;
}

template <class Real>
void output_gradients(LossKind kind, double parameter, Matrix<const double> y, Matrix<const double> raw,
                      std::optional<Vector<const double>> weight, Matrix<Real> gradients, Matrix<Real> hessians,
                      int threads) {
    compute_output_gradients(kind, parameter, y.data(), raw.data(), data_or_null(weight),
                             static_cast<int64_t>(raw.shape(0)), static_cast<int64_t>(raw.shape(1)), gradients.data(),
                             hessians.data(), threads);
}

template <class Real>
void sketch(Matrix<const Real> gradients, Matrix<const Real> hessians, Vector<const double> mix,
            Vector<const double> share, int threads, Vector<Real> out_gradients, Vector<Real> out_hessians) {
    sketch_outputs(of_outputs(gradients, hessians), mix.data(), share.data(), threads, out_gradients.data(),
                   out_hessians.data());
}

template <class Real>
void node_sums(const GrownTree& tree, Vector<const uint32_t> leaf, std::optional<Vector<const Row>> rows,
               std::optional<Vector<const double>> factor, Matrix<const Real> gradients, Matrix<const Real> hessians,
               Matrix<const double> units, int threads, Matrix<double> largest,
               nb::ndarray<int64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu> out) {
    const SampledRows sample{data_or_null(rows), data_or_null(factor),
                             static_cast<int64_t>(rows ? rows->size() : leaf.size())};
    sum_outputs_by_node(tree.nodes, leaf.data(), sample, of_outputs(gradients, hessians),
                        reinterpret_cast<const Units*>(units.data()), threads,
                        reinterpret_cast<GradientPair*>(largest.data()), reinterpret_cast<WholePair*>(out.data()));
}

template <class Real>
void bind_real(nb::module_& m) {
    m.def("output_gradients", &output_gradients<Real>, nb::arg("kind"), nb::arg("parameter"), nb::arg("y").noconvert(),
          nb::arg("raw").noconvert(), nb::arg("weight").noconvert().none(), nb::arg("gradients").noconvert(),
          nb::arg("hessians").noconvert(), nb::arg("threads"), Released());
    m.def("sketch_outputs", &sketch<Real>, nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
          nb::arg("mix").noconvert(), nb::arg("share").noconvert(), nb::arg("threads"),
          nb::arg("out_gradients").noconvert(), nb::arg("out_hessians").noconvert(), Released());
    m.def("output_sums", &node_sums<Real>, nb::arg("tree"), nb::arg("leaf").noconvert(),
          nb::arg("rows").noconvert().none(), nb::arg("factor").noconvert().none(), nb::arg("gradients").noconvert(),
          nb::arg("hessians").noconvert(), nb::arg("units").noconvert(), nb::arg("threads"),
          nb::arg("largest").noconvert(), nb::arg("out").noconvert(), Released());
}

}  // namespace

void bind_vector_leaves(nb::module_& m) {
    bind_real<float>(m);
    bind_real<double>(m);
    m.def(
        "add_output_values",
        [](Vector<const uint32_t> leaf, Matrix<const double> values, int threads, Matrix<double> raw) {
            add_output_values(leaf.data(), values.data(), static_cast<int64_t>(values.shape(1)),
                              static_cast<int64_t>(raw.shape(0)), static_cast<int64_t>(raw.shape(1)), threads,
                              raw.data());
        },
        nb::arg("leaf").noconvert(), nb::arg("values").noconvert(), nb::arg("threads"), nb::arg("raw").noconvert(),
        Released());
}

}  // namespace arboretum
