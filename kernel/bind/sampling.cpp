// kernel/data/sampling.hpp
#include "data/sampling.hpp"

#include "bind/arrays.hpp"

namespace arboretum {

namespace {

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> own_numpy(Items<T> items) {
    return arboretum::own_numpy(std::move(items.data), static_cast<size_t>(items.size));
}

nb::tuple to_tuple(RowSample sample) {
    return nb::make_tuple(own_numpy(std::move(sample.rows)), own_numpy(std::move(sample.factor)));
}

template <class Work>
auto released(Work&& work) {
    GilReleased released;
    return work();
}

template <class Real>
void bind_gradient_samples(nb::module_& m) {
    m.def(
        "goss_rows",
        [](Matrix<const Real> gradients, int64_t n_top, int64_t n_other, uint64_t key, int threads) {
            return to_tuple(released([&] {
                return goss_rows(gradients.data(), static_cast<int64_t>(gradients.shape(0)),
                                 static_cast<int64_t>(gradients.shape(1)), n_top, n_other, key, threads);
            }));
        },
        nb::arg("gradients").noconvert(), nb::arg("n_top"), nb::arg("n_other"), nb::arg("key"), nb::arg("threads"));
    m.def(
        "mvs_rows",
        [](Matrix<const Real> gradients, Matrix<const Real> hessians, double share, uint64_t key, int threads) {
            return to_tuple(released([&] {
                return mvs_rows(gradients.data(), hessians.data(), static_cast<int64_t>(gradients.shape(0)),
                                static_cast<int64_t>(gradients.shape(1)), share, key, threads);
            }));
        },
        nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(), nb::arg("share"), nb::arg("key"),
        nb::arg("threads"));
    m.def(
        "goss_ranks",
        [](Matrix<const Real> gradients, uint64_t key, int threads, int64_t first, Vector<uint64_t> top,
           Vector<uint32_t> rest) {
            fill_goss_ranks(gradients.data(), static_cast<int64_t>(gradients.shape(0)),
                            static_cast<int64_t>(gradients.shape(1)), key, threads, first, top.data(), rest.data());
        },
        nb::arg("gradients").noconvert(), nb::arg("key"), nb::arg("threads"), nb::arg("first"),
        nb::arg("top").noconvert(), nb::arg("rest").noconvert(), Released());
}

}  // namespace

void bind_sampling(nb::module_& m) {
    m.def("subsample_rows", [](int64_t n_rows, double share, uint64_t key, int threads) {
        return own_numpy(released([&] { return subsample_rows(n_rows, share, key, threads); }));
    });
    m.def(
        "bootstrap_rows",
        [](int64_t n_rows, int64_t n_draws, uint64_t key, int threads, int64_t first, std::optional<int64_t> total) {
            return to_tuple(
                released([&] { return bootstrap_rows(n_rows, n_draws, key, threads, first, total.value_or(n_rows)); }));
        },
        nb::arg("n_rows"), nb::arg("n_draws"), nb::arg("key"), nb::arg("threads"), nb::arg("first") = 0,
        nb::arg("total") = nb::none());
    m.def(
        "stratified_rows",
        [](Vector<const Row> rows, Vector<const int64_t> start, Vector<const int64_t> wanted, uint64_t key,
           int threads) {
            return own_numpy(released([&] {
                return stratified_rows(rows.data(), start.data(), wanted.data(), static_cast<int64_t>(wanted.size()),
                                       key, threads);
            }));
        },
        nb::arg("rows").noconvert(), nb::arg("start").noconvert(), nb::arg("wanted").noconvert(), nb::arg("key"),
        nb::arg("threads"));
    m.def(
        "bayesian_factors",
        [](double temperature, uint64_t key, int threads, Vector<double> out, int64_t first) {
            bayesian_factors(static_cast<int64_t>(out.size()), temperature, key, threads, first, out.data());
        },
        nb::arg("temperature"), nb::arg("key"), nb::arg("threads"), nb::arg("out").noconvert(), nb::arg("first") = 0,
        Released());
    m.def(
        "row_draws",
        [](uint64_t key, int threads, int64_t first, Vector<uint64_t> out) {
            fill_row_draws(static_cast<int64_t>(out.size()), key, threads, first, out.data());
        },
        nb::arg("key"), nb::arg("threads"), nb::arg("first"), nb::arg("out").noconvert(), Released());
    bind_gradient_samples<float>(m);
    bind_gradient_samples<double>(m);
}

}  // namespace arboretum
