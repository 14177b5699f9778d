// kernel/forest/predict.hpp
#include "bind/columns.hpp"
#include "bind/forest_view.hpp"
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

std::vector<RawColumn> matrix_columns(const Predictor& predictor, const AnyArray& matrix, int64_t n_rows) {
    if (matrix.ndim() != 2 || static_cast<int64_t>(matrix.shape(0)) != n_rows)
        throw nb::value_error(("the matrix must have two dimensions and " + std::to_string(n_rows) + " rows").c_str());
    int64_t item = static_cast<int64_t>(matrix.itemsize());
    ValueType type = type_of(matrix, column_name(0));
    std::vector<RawColumn> columns(matrix.shape(1));
    const char* data = static_cast<const char*>(matrix.data());
    for (RawColumn& column : columns) {
        column = {data, matrix.stride(0) * item, type};
        data += matrix.stride(1) * item;
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

void raw_matrix(const Predictor& self, const AnyArray& matrix, Matrix<double> out, int threads) {
    int64_t n_trees = static_cast<int64_t>(self.forest().trees.size());
    check_request(self, 0, n_trees, out.shape(1), self.forest().n_outputs);
    int64_t n_rows = static_cast<int64_t>(out.shape(0));
    std::vector<RawColumn> raw = matrix_columns(self, matrix, n_rows);
    GilReleased released;
    self.fill_base(n_rows, out.data());
    self.add(raw.data(), n_rows, 0, n_trees, Unknown::missing, threads, out.data());
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
    nb::class_<Predictor>(m, "Predictor", "A forest compiled for prediction; immutable, safe to share between threads.")
        .def("__init__", &make, "arrays"_a, "threads"_a)
        .def("add", &add, "columns"_a, "out"_a.noconvert(), "first"_a, "last"_a, "average"_a, "threads"_a,
             "Add trees first … last − 1, in this order, to out (rows × outputs).")
        .def("raw_matrix", &raw_matrix, "matrix"_a, "out"_a.noconvert(), "threads"_a,
             "Fill out (rows × outputs) with base + all trees for a float32 or float64 matrix of rows × "
             "features.")
        .def("apply", &apply, "columns"_a, "out"_a.noconvert(), "first"_a, "last"_a, "average"_a, "threads"_a,
             "Fill out (rows × trees) with the node of the leaf that each row reaches.");
}
