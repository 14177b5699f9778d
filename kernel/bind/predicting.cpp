// Python face of predict.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "predict.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace arboretum {
namespace {

template <class Value>
using Array = nb::ndarray<const Value, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
template <class Value>
using Matrix = nb::ndarray<Value, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::string column_name(int64_t feature) { return "column " + std::to_string(feature); }

ValueType type_of(const AnyArray& array, int64_t feature) {
    if (array.dtype() == nb::dtype<float>()) return ValueType::float32;
    if (array.dtype() == nb::dtype<double>()) return ValueType::float64;
    if (array.dtype() == nb::dtype<int32_t>()) return ValueType::category;
    throw nb::type_error((column_name(feature) + " must be float32, float64 or int32").c_str());
}

void check_kinds(const Predictor& predictor, const std::vector<RawColumn>& columns) {
    for (const UsedFeature& used : predictor.forest().used) {
        if (used.feature >= static_cast<int64_t>(columns.size()))
            throw nb::value_error(("the forest reads " + column_name(used.feature) + " but there are only " +
                                   std::to_string(columns.size()) + " columns")
                                      .c_str());
        if ((columns[used.feature].type == ValueType::category) != used.is_category)
            throw nb::type_error(
                (column_name(used.feature) +
                 (used.is_category ? " must hold int32 category codes" : " must be float32 or float64"))
                    .c_str());
    }
}

// Borrowed: the arrays live as long as the sequence does.
std::vector<RawColumn> raw_columns(const Predictor& predictor, const nb::sequence& columns, int64_t n_rows) {
    std::vector<RawColumn> raw;
    for (nb::handle item : columns) {
        int64_t feature = static_cast<int64_t>(raw.size());
        AnyArray array = nb::cast<AnyArray>(item);
        if (array.ndim() != 1 || static_cast<int64_t>(array.shape(0)) != n_rows)
            throw nb::value_error(
                (column_name(feature) + " must have " + std::to_string(n_rows) + " values").c_str());
        int64_t stride = array.stride(0) * static_cast<int64_t>(array.itemsize());
        raw.push_back({static_cast<const char*>(array.data()), stride, type_of(array, feature)});
    }
    check_kinds(predictor, raw);
    return raw;
}

std::vector<RawColumn> matrix_columns(const Predictor& predictor, const AnyArray& matrix) {
    if (matrix.ndim() != 2) throw nb::value_error("a matrix of rows × columns is needed");
    int64_t item = static_cast<int64_t>(matrix.itemsize());
    ValueType type = type_of(matrix, 0);
    const char* data = static_cast<const char*>(matrix.data());
    std::vector<RawColumn> raw(matrix.shape(1));
    for (size_t j = 0; j < raw.size(); ++j)
        raw[j] = {data + static_cast<int64_t>(j) * matrix.stride(1) * item, matrix.stride(0) * item, type};
    check_kinds(predictor, raw);
    return raw;
}

void check_trees(const Predictor& predictor, int64_t first, int64_t last) {
    int64_t n_trees = static_cast<int64_t>(predictor.forest().trees.size());
    if (first < 0 || first > last || last > n_trees)
        throw nb::index_error(("trees " + std::to_string(first) + " to " + std::to_string(last) +
                               " of a forest of " + std::to_string(n_trees))
                                  .c_str());
}

template <class Value>
void check_width(const Matrix<Value>& out, int64_t width) {
    if (static_cast<int64_t>(out.shape(1)) != width)
        throw nb::value_error(("out must have " + std::to_string(width) + " columns").c_str());
}

Unknown policy(bool average) { return average ? Unknown::average : Unknown::missing; }

void make(Predictor* self, Array<int64_t> tree_start, Array<int32_t> tree_output, Array<uint8_t> kind,
          Array<int32_t> feature, Array<double> threshold, Array<int32_t> left, Array<int32_t> right,
          Array<uint8_t> missing_left, Array<int64_t> set_start, Array<uint32_t> set_words,
          Matrix<const double> value, Array<int64_t> n_rows, int64_t n_outputs) {
    ForestView forest{static_cast<int64_t>(tree_output.size()),
                      static_cast<int64_t>(kind.size()),
                      n_outputs,
                      static_cast<int64_t>(value.shape(1)),
                      tree_start.data(),
                      tree_output.data(),
                      kind.data(),
                      feature.data(),
                      threshold.data(),
                      left.data(),
                      right.data(),
                      missing_left.data(),
                      set_start.data(),
                      set_words.data(),
                      value.data(),
                      n_rows.data()};
    nb::gil_scoped_release release;
    new (self) Predictor(forest);
}

void add(const Predictor& self, const nb::sequence& columns, Matrix<double> out, int64_t first, int64_t last,
         bool average, int threads) {
    check_trees(self, first, last);
    check_width(out, self.forest().n_outputs);
    int64_t n_rows = static_cast<int64_t>(out.shape(0));
    std::vector<RawColumn> raw = raw_columns(self, columns, n_rows);
    nb::gil_scoped_release release;
    self.add(raw.data(), n_rows, first, last, policy(average), threads, out.data());
}

void apply(const Predictor& self, const nb::sequence& columns, Matrix<int32_t> out, int64_t first,
           int64_t last, bool average, int threads) {
    check_trees(self, first, last);
    check_width(out, last - first);
    int64_t n_rows = static_cast<int64_t>(out.shape(0));
    std::vector<RawColumn> raw = raw_columns(self, columns, n_rows);
    nb::gil_scoped_release release;
    self.apply(raw.data(), n_rows, first, last, policy(average), threads, out.data());
}

void add_matrix(const Predictor& self, const AnyArray& matrix, Matrix<double> out, int threads) {
    std::vector<RawColumn> raw = matrix_columns(self, matrix);
    check_width(out, self.forest().n_outputs);
    int64_t n_rows = static_cast<int64_t>(out.shape(0));
    if (n_rows != static_cast<int64_t>(matrix.shape(0)))
        throw nb::value_error("out must have the rows of the matrix");
    nb::gil_scoped_release release;
    self.add(raw.data(), n_rows, 0, static_cast<int64_t>(self.forest().trees.size()), Unknown::missing,
             threads, out.data());
}

}  // namespace
}  // namespace arboretum

void bind_predicting(nb::module_& m) {
    using namespace arboretum;
    nb::class_<Predictor>(m, "Predictor",
                          "A forest compiled for prediction; immutable, safe to share between threads.")
        .def("__init__", &make, "tree_start"_a, "tree_output"_a, "kind"_a, "feature"_a, "threshold"_a,
             "left"_a, "right"_a, "missing_left"_a, "set_start"_a, "set_words"_a, "value"_a, "n_rows"_a,
             "n_outputs"_a)
        .def("add", &add, "columns"_a, "out"_a.noconvert(), "first"_a, "last"_a, "average"_a, "threads"_a,
             "Add trees first … last − 1, in this order, to out (rows × outputs).")
        .def("add_matrix", &add_matrix, "matrix"_a, "out"_a.noconvert(), "threads"_a,
             "Add all trees to out (rows × outputs), reading a float32 or float64 matrix of rows × features.")
        .def("apply", &apply, "columns"_a, "out"_a.noconvert(), "first"_a, "last"_a, "average"_a, "threads"_a,
             "Fill out (rows × trees) with the node of the leaf that each row reaches.");
}
