// kernel/forest/predict.hpp
#include <nanobind/stl/pair.h>

#include "bind/columns.hpp"
#include "bind/forest_view.hpp"
#include "forest/links.hpp"
#include "forest/predict.hpp"

namespace arboretum {

namespace {

using namespace nb::literals;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

void check_kinds(const Predictor& predictor, const std::vector<RawColumn>& columns) {
    for (const UsedFeature& used : predictor.forest().used) {
        if (used.feature >= static_cast<int64_t>(columns.size()))
            throw nb::value_error(("the forest reads " + column_name(used.feature) + " but there are only " +
                                   std::to_string(columns.size()) + " columns")
                                      .c_str());
        if ((columns[used.feature].type == ValueType::category) != used.is_category)
            throw nb::type_error((column_name(used.feature) + (used.is_category ? " must hold int32 category codes"
                                                                                : " must be float32 or float64"))
                                     .c_str());
    }
}

std::vector<RawColumn> checked_columns(const Predictor& predictor, const std::vector<AnyArray>& arrays,
                                       int64_t n_rows) {
    std::vector<RawColumn> columns = raw_columns(arrays, n_rows);
    check_kinds(predictor, columns);
    return columns;
}

RawMatrix raw_matrix_of(const AnyArray& array, ValueType type) {
    const int64_t item = static_cast<int64_t>(array.itemsize());
    return {static_cast<const char*>(array.data()),
            static_cast<int64_t>(array.shape(0)),
            static_cast<int64_t>(array.shape(1)),
            array.stride(0) * item,
            array.stride(1) * item,
            type};
}

// codes: those of categories, at the places of their columns; columns of numbers are not read there.
std::vector<RawColumn> matrix_columns(const Predictor& predictor, const RawMatrix& numbers,
                                      const std::optional<Matrix<const int32_t>>& codes) {
    std::vector<RawColumn> columns(numbers.n_columns);
    for (int64_t j = 0; j < numbers.n_columns; ++j) columns[j] = numbers.column(j);
    if (codes) {
        const RawMatrix beside = raw_matrix_of(AnyArray(*codes), ValueType::category);
        if (beside.n_rows != numbers.n_rows || beside.n_columns != numbers.n_columns)
            throw nb::value_error("codes must have the shape of the matrix");
        for (const UsedFeature& used : predictor.forest().used)
            if (used.is_category && used.feature < beside.n_columns)
                columns[used.feature] = beside.column(used.feature);
    }
    check_kinds(predictor, columns);
    return columns;
}

void check_request(const Predictor& predictor, int64_t first, int64_t last, size_t out_width, int64_t width) {
    int64_t n_trees = static_cast<int64_t>(predictor.forest().trees.size());
    if (first < 0 || first > last || last > n_trees)
        throw nb::index_error(("trees " + std::to_string(first) + " to " + std::to_string(last) + " of a forest of " +
                               std::to_string(n_trees))
                                  .c_str());
    if (static_cast<int64_t>(out_width) != width)
        throw nb::value_error(("out must have " + std::to_string(width) + " columns").c_str());
}

Unknown policy(bool average) { return average ? Unknown::average : Unknown::missing; }

void make(Predictor* self, const nb::dict& arrays, int threads) {
    const ForestView forest = forest_view(arrays);
    GilReleased released;
    new (self) Predictor(forest, threads);
}

void add(const Predictor& self, const std::vector<AnyArray>& columns, Matrix<double> out, int64_t first, int64_t last,
         bool average, int threads) {
    check_request(self, first, last, out.shape(1), self.forest().n_outputs);
    int64_t n_rows = static_cast<int64_t>(out.shape(0));
    std::vector<RawColumn> raw = checked_columns(self, columns, n_rows);
    GilReleased released;
    self.add(raw.data(), n_rows, first, last, policy(average), threads, out.data());
}

bool raw_matrix(const Predictor& self, const AnyArray& matrix, const std::optional<Matrix<const int32_t>>& codes,
                Matrix<double> out, bool allow_nan, int threads) {
    const int64_t n_trees = static_cast<int64_t>(self.forest().trees.size());
    check_request(self, 0, n_trees, out.shape(1), self.forest().n_outputs);
    const int64_t n_rows = static_cast<int64_t>(out.shape(0));
    if (matrix.ndim() != 2 || static_cast<int64_t>(matrix.shape(0)) != n_rows)
        throw nb::value_error(("the matrix must have two dimensions and " + std::to_string(n_rows) + " rows").c_str());
    const RawMatrix numbers = raw_matrix_of(matrix, type_of(matrix, column_name(0)));
    const std::vector<RawColumn> raw = matrix_columns(self, numbers, codes);
    GilReleased released;
    if (!allow_nan && numbers.has_nan()) return false;
    self.fill_base(n_rows, out.data());
    self.add(raw.data(), n_rows, 0, n_trees, Unknown::missing, threads, out.data());
    return true;
}

void apply(const Predictor& self, const std::vector<AnyArray>& columns, Matrix<int32_t> out, int64_t first,
           int64_t last, bool average, int threads) {
    check_request(self, first, last, out.shape(1), last - first);
    int64_t n_rows = static_cast<int64_t>(out.shape(0));
    std::vector<RawColumn> raw = checked_columns(self, columns, n_rows);
    GilReleased released;
    self.apply(raw.data(), n_rows, first, last, policy(average), threads, out.data());
}

}  // namespace

}  // namespace arboretum

void bind_predicting(nanobind::module_& m) {
    using namespace arboretum;
    m.def(
        "first_broken_link",
        [](const nb::dict& arrays, int threads) {
            const ForestView forest = forest_view(arrays);
            const GilReleased released;
            const auto [rule, node] = first_broken_link(forest, threads);
            return std::pair(static_cast<int>(rule), node);
        },
        "arrays"_a, "threads"_a, "Return the first rule (LinkRule) that children break, and the first node that does.");
    nb::class_<Predictor>(m, "Predictor", "A forest compiled for prediction; immutable, safe to share between threads.")
        .def("__init__", &make, "arrays"_a, "threads"_a)
        .def("add", &add, "columns"_a, "out"_a.noconvert(), "first"_a, "last"_a, "average"_a, "threads"_a,
             "Add trees first … last − 1, in this order, to out (rows × outputs).")
        .def("raw_matrix", &raw_matrix, "matrix"_a, "codes"_a.noconvert().none(), "out"_a.noconvert(), "allow_nan"_a,
             "threads"_a,
             "Fill out (rows × outputs) with base + all trees for a matrix (rows × features) of floats.\n\n"
             "Codes of categories, none of them unknown, are read from an int32 matrix beside it. Return\n"
             "whether it was done: not if there is a NaN and none is allowed.")
        .def("apply", &apply, "columns"_a, "out"_a.noconvert(), "first"_a, "last"_a, "average"_a, "threads"_a,
             "Fill out (rows × trees) with the node of the leaf that each row reaches.");
}
