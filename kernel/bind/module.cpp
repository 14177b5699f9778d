// The extension module: one registration per noun.
#include <new>
#include <stdexcept>

#include "bind/arrays.hpp"

namespace arboretum {
void bind_adaboost(nb::module_& m);
void bind_bagging(nb::module_& m);
void bind_binning(nb::module_& m);
void bind_calibrating(nb::module_& m);
void bind_dependence(nb::module_& m);
void bind_elementary(nb::module_& m);
void bind_encoding(nb::module_& m);
void bind_exact_sums(nb::module_& m);
void bind_explaining(nb::module_& m);
void bind_growing(nb::module_& m);
void bind_grown(nb::module_& m);
void bind_influence(nb::module_& m);
void bind_isolation(nb::module_& m);
void bind_linear_leaves(nb::module_& m);
void bind_leaf_sums(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_ordinal(nb::module_& m);
void bind_parts(nb::module_& m);
void bind_ranking(nb::module_& m);
void bind_sampling(nb::module_& m);
void bind_survival(nb::module_& m);
void bind_threads(nb::module_& m);
void bind_threshold_search(nb::module_& m);
void bind_vector_leaves(nb::module_& m);
}  // namespace arboretum
void bind_predicting(nanobind::module_& m);

namespace {

// std::length_error: a vector longer than any memory, such as a count of a crafted file.
void translate_memory_errors(const std::exception_ptr& error, void*) {
    constexpr const char* message = "not enough memory: use fewer rows or columns at a time, or a smaller model";
    try {
        std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
        PyErr_SetString(PyExc_MemoryError, message);
    } catch (const std::length_error&) {
        PyErr_SetString(PyExc_MemoryError, message);
    }
}

}  // namespace

NB_MODULE(_kernel, m) {
#ifdef NDEBUG
    // Models that are still referenced when the interpreter ends, say by a daemon thread, are not reported as leaks.
    nanobind::set_leak_warnings(false);
#endif
    nanobind::register_exception_translator(translate_memory_errors);
    arboretum::bind_adaboost(m);
    arboretum::bind_bagging(m);
    arboretum::bind_binning(m);
    arboretum::bind_calibrating(m);
    arboretum::bind_dependence(m);
    arboretum::bind_elementary(m);
    arboretum::bind_encoding(m);
    arboretum::bind_exact_sums(m);
    arboretum::bind_explaining(m);
    arboretum::bind_growing(m);
    arboretum::bind_grown(m);
    arboretum::bind_influence(m);
    arboretum::bind_isolation(m);
    arboretum::bind_linear_leaves(m);
    arboretum::bind_losses(m);
    arboretum::bind_leaf_sums(m);
    arboretum::bind_ordinal(m);
    arboretum::bind_parts(m);
    arboretum::bind_ranking(m);
    arboretum::bind_sampling(m);
    arboretum::bind_survival(m);
    arboretum::bind_threads(m);
    arboretum::bind_threshold_search(m);
    arboretum::bind_vector_leaves(m);
    bind_predicting(m);
#ifdef NDEBUG
    m.attr("build_type") = "release";
#else
    m.attr("build_type") = "debug";
#endif
}
