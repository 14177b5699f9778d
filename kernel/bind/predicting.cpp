// kernel/forest/predict.hpp
#include <string>

#include "bind/arrays.hpp"
#include "forest/predict.hpp"

namespace arboretum {

namespace {

using namespace nb::literals;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

std::string column_name(int64_t feature) { return "column " + std::to_string(feature); }

ValueType type_of(const AnyArray& array, int64_t feature) {
    if (array.dtype() == nb::dtype<float>()) return ValueType::float32;
    if (array.dtype() == nb::dtype<double>()) return ValueType::float64;
    if (array.dtype() == nb::dtype<int32_t>()) return ValueType::category;
    throw nb::type_error((column_name(feature) + " must be float32, float64 or int32").c_str());
}

RawColumn raw_column(const AnyArray& array, int64_t feature, int64_t n_rows) {
    if (array.ndim() != 1 || static_cast<int64_t>(array.shape(0)) != n_rows)
        throw nb::value_error((column_name(feature) + " must have " + std::to_string(n_rows) + " values").c_str());
    return {static_cast<const char*>(array.data()), array.stride(0) * static_cast<int64_t>(array.itemsize()),
            type_of(array, feature)};
}

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

std::vector<RawColumn> raw_columns(const Predictor& predictor, const std::vector<AnyArray>& arrays, int64_t n_rows) {
    std::vector<RawColumn> columns;
    for (const AnyArray& array : arrays) columns.push_back(raw_column(array, columns.size(), n_rows));
    check_kinds(predictor, columns);
    return columns;
}

std::vector<RawColumn> matrix_columns(const Predictor& predictor, const AnyArray& matrix, int64_t n_rows) {
    if (matrix.ndim() != 2 || static_cast<int64_t>(matrix.shape(0)) != n_rows)
        throw nb::value_error(("the matrix must have two dimensions and " + std::to_string(n_rows) + " rows").c_str());
    int64_t item = static_cast<int64_t>(matrix.itemsize());
    ValueType type = type_of(matrix, 0);
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

void make(Predictor* self, Vector<const int64_t> tree_start, Vector<const int32_t> tree_output,
          Vector<const uint8_t> kind, Vector<const int32_t> feature, Vector<const double> threshold,
          Vector<const int32_t> left, Vector<const int32_t> right, Vector<const uint8_t> missing_left,
          Vector<const int64_t> set_start, Vector<const uint32_t> set_words, Matrix<const double> value,
          Vector<const int64_t> n_rows, Vector<const double> base,
          std::optional<Vector<const int64_t>> projection_start,
          std::optional<Vector<const int32_t>> projection_feature,
          std::optional<Vector<const double>> projection_weight, std::optional<Vector<const double>> projection_fill,
          std::optional<Vector<const int64_t>> slope_start, std::optional<Vector<const int32_t>> slope_feature,
          std::optional<Vector<const double>> slope_weight, std::optional<Vector<const double>> slope_centre,
          std::optional<Vector<const double>> slope_low, std::optional<Vector<const double>> slope_high) {
    auto pointer = [](const auto& array) { return array ? array->data() : nullptr; };
    ForestView forest{.n_trees = static_cast<int64_t>(tree_output.size()),
                      .n_nodes = static_cast<int64_t>(kind.size()),
                      .n_outputs = static_cast<int64_t>(base.size()),
                      .width = static_cast<int64_t>(value.shape(1)),
                      .tree_start = tree_start.data(),
                      .tree_output = tree_output.data(),
                      .kind = kind.data(),
                      .feature = feature.data(),
                      .threshold = threshold.data(),
                      .left = left.data(),
                      .right = right.data(),
                      .missing_left = missing_left.data(),
                      .set_start = set_start.data(),
                      .set_words = set_words.data(),
                      .value = value.data(),
                      .n_rows = n_rows.data(),
                      .base = base.data(),
                      .projection_start = pointer(projection_start),
                      .projection_feature = pointer(projection_feature),
                      .projection_weight = pointer(projection_weight),
                      .projection_fill = pointer(projection_fill),
                      .slope_start = pointer(slope_start),
                      .slope_feature = pointer(slope_feature),
                      .slope_weight = pointer(slope_weight),
                      .slope_centre = pointer(slope_centre),
                      .slope_low = pointer(slope_low),
                      .slope_high = pointer(slope_high)};
    GilReleased released;
    new (self) Predictor(forest);
}

void add(const Predictor& self, const std::vector<AnyArray>& columns, Matrix<double> out, int64_t first, int64_t last,
         bool average, int threads) {
    check_request(self, first, last, out.shape(1), self.forest().n_outputs);
    int64_t n_rows = static_cast<int64_t>(out.shape(0));
    std::vector<RawColumn> raw = raw_columns(self, columns, n_rows);
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
    std::vector<RawColumn> raw = raw_columns(self, columns, n_rows);
    GilReleased released;
    self.apply(raw.data(), n_rows, first, last, policy(average), threads, out.data());
}

}  // namespace

}  // namespace arboretum

void bind_predicting(nanobind::module_& m) {
    using namespace arboretum;
    nb::class_<Predictor>(m, "Predictor", "A forest compiled for prediction; immutable, safe to share between threads.")
        .def("__init__", &make, "tree_start"_a, "tree_output"_a, "kind"_a, "feature"_a, "threshold"_a, "left"_a,
             "right"_a, "missing_left"_a, "set_start"_a, "set_words"_a, "value"_a, "n_rows"_a, "base"_a,
             "projection_start"_a = nb::none(), "projection_feature"_a = nb::none(), "projection_weight"_a = nb::none(),
             "projection_fill"_a = nb::none(), "slope_start"_a = nb::none(), "slope_feature"_a = nb::none(),
             "slope_weight"_a = nb::none(), "slope_centre"_a = nb::none(), "slope_low"_a = nb::none(),
             "slope_high"_a = nb::none())
        .def("add", &add, "columns"_a, "out"_a.noconvert(), "first"_a, "last"_a, "average"_a, "threads"_a,
             "Add trees first … last − 1, in this order, to out (rows × outputs).")
        .def("raw_matrix", &raw_matrix, "matrix"_a, "out"_a.noconvert(), "threads"_a,
             "Fill out (rows × outputs) with base + all trees for a float32 or float64 matrix of rows × "
             "features.")
        .def("apply", &apply, "columns"_a, "out"_a.noconvert(), "first"_a, "last"_a, "average"_a, "threads"_a,
             "Fill out (rows × trees) with the node of the leaf that each row reaches.");
}
