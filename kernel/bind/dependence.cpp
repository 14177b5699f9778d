// kernel/explain/dependence.hpp, kernel/explain/shuffling.hpp
#include "explain/dependence.hpp"

#include <string>

#include "bind/arrays.hpp"
#include "explain/shuffling.hpp"

namespace arboretum {

namespace {

using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using Cube = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

RawColumn raw_column(const Column& array, int64_t n_rows) {
    const ValueType type = array.dtype() == nb::dtype<float>()    ? ValueType::float32
                           : array.dtype() == nb::dtype<double>() ? ValueType::float64
                                                                  : ValueType::category;
    if (type == ValueType::category && array.dtype() != nb::dtype<int32_t>())
        throw nb::type_error("a column must be float32, float64 or int32");
    if (static_cast<int64_t>(array.shape(0)) != n_rows)
        throw nb::value_error(("a column must have " + std::to_string(n_rows) + " values").c_str());
    return {static_cast<const char*>(array.data()), array.stride(0) * static_cast<int64_t>(array.itemsize()), type};
}

// The arrays of a forest, which stay alive as long as this.
struct OwnedForest {
    nb::dict arrays;
    ForestView forest{};

    explicit OwnedForest(nb::dict given) : arrays(std::move(given)) { read_forest(); }

    template <class T>
    const T* data(const char* name) const {
        return arrays.contains(name) ? nb::cast<Vector<const T>>(arrays[name]).data() : nullptr;
    }

    template <class T>
    int64_t length(const char* name) const {
        return static_cast<int64_t>(nb::cast<Vector<const T>>(arrays[name]).size());
    }

    void read_forest() {
        const auto value = nb::cast<Matrix<const double>>(arrays["value"]);
        forest.n_nodes = static_cast<int64_t>(value.shape(0));
        forest.width = static_cast<int64_t>(value.shape(1));
        forest.value = value.data();
        forest.n_trees = length<int32_t>("tree_output");
        forest.n_outputs = length<double>("base");
        forest.tree_start = data<int64_t>("tree_start");
        forest.tree_output = data<int32_t>("tree_output");
        forest.kind = data<uint8_t>("kind");
        forest.feature = data<int32_t>("feature");
        forest.threshold = data<double>("threshold");
        forest.left = data<int32_t>("left");
        forest.right = data<int32_t>("right");
        forest.missing_left = data<uint8_t>("missing_left");
        forest.set_start = data<int64_t>("set_start");
        forest.set_words = data<uint32_t>("set_words");
        forest.n_rows = data<int64_t>("n_rows");
        forest.base = data<double>("base");
        forest.projection_start = data<int64_t>("projection_start");
        forest.projection_feature = data<int32_t>("projection_feature");
        forest.projection_weight = data<double>("projection_weight");
        forest.projection_fill = data<double>("projection_fill");
        forest.slope_start = data<int64_t>("slope_start");
        forest.slope_feature = data<int32_t>("slope_feature");
        forest.slope_weight = data<double>("slope_weight");
        forest.slope_centre = data<double>("slope_centre");
        forest.slope_low = data<double>("slope_low");
        forest.slope_high = data<double>("slope_high");
    }
};

// A forest and the two tables that it is asked about.
struct OwnedPairs : OwnedForest {
    std::vector<Column> row_arrays;
    std::vector<std::optional<Column>> point_arrays;
    std::vector<RawColumn> rows, points;
    int64_t n_rows, n_points;
    Unknown unknown;

    OwnedPairs(nb::dict given, std::vector<Column> row_columns, std::vector<std::optional<Column>> point_columns,
               int64_t n_rows, int64_t n_points, bool average)
        : OwnedForest(std::move(given)),
          row_arrays(std::move(row_columns)),
          point_arrays(std::move(point_columns)),
          n_rows(n_rows),
          n_points(n_points),
          unknown(average ? Unknown::average : Unknown::missing) {
        if (row_arrays.size() != point_arrays.size())
            throw nb::value_error("give as many columns of points as of rows, None for those of the rows");
        for (const Column& column : row_arrays) rows.push_back(raw_column(column, n_rows));
        for (const std::optional<Column>& column : point_arrays)
            points.push_back(column ? raw_column(*column, n_points) : RawColumn{nullptr, 0, ValueType::float64});
    }

    PairTables tables() const { return {forest, rows.data(), points.data(), n_rows, n_points, unknown}; }
};

void mean(const OwnedPairs& self, std::optional<Vector<const double>> weight, Matrix<double> out, int threads) {
    if (weight && static_cast<int64_t>(weight->size()) != self.n_rows) throw nb::value_error("give one weight a row");
    if (static_cast<int64_t>(out.shape(0)) != self.forest.n_outputs ||
        static_cast<int64_t>(out.shape(1)) != self.n_points)
        throw nb::value_error("out must be outputs × points");
    GilReleased released;
    add_mean_dependence(self.tables(), weight ? weight->data() : nullptr, threads, out.data());
}

void each(const OwnedPairs& self, Cube out, int threads) {
    if (static_cast<int64_t>(out.shape(0)) != self.n_rows ||
        static_cast<int64_t>(out.shape(1)) != self.forest.n_outputs ||
        static_cast<int64_t>(out.shape(2)) != self.n_points)
        throw nb::value_error("out must be rows × outputs × points");
    GilReleased released;
    add_each_dependence(self.tables(), threads, out.data());
}

void shuffle(const nb::dict& arrays, const std::vector<Column>& columns,
             const std::vector<std::vector<Column>>& shuffled, bool average, Cube out, int threads) {
    const OwnedForest owned(arrays);
    const int64_t n_repeats = static_cast<int64_t>(out.shape(0)), n_rows = static_cast<int64_t>(out.shape(1));
    if (static_cast<int64_t>(out.shape(2)) != owned.forest.n_outputs || shuffled.size() != columns.size())
        throw nb::value_error(
            "out must be repeats × rows × outputs, and there must be shuffles of each column or none");
    std::vector<RawColumn> rows, repeats;
    for (const Column& column : columns) rows.push_back(raw_column(column, n_rows));
    for (const std::vector<Column>& one : shuffled) {
        if (!one.empty() && static_cast<int64_t>(one.size()) != n_repeats)
            throw nb::value_error("give one shuffled column a repeat");
        for (int64_t repeat = 0; repeat < n_repeats; ++repeat)
            repeats.push_back(one.empty() ? RawColumn{nullptr, 0, ValueType::float64}
                                          : raw_column(one[repeat], n_rows));
    }
    GilReleased released;
    add_shuffled(
        {owned.forest, rows.data(), repeats.data(), n_rows, n_repeats, average ? Unknown::average : Unknown::missing},
        threads, out.data());
}

}  // namespace

void bind_dependence(nb::module_& m) {
    nb::class_<OwnedPairs>(m, "Dependence",
                           "A forest asked about every row with the columns of every point in place of its own.")
        .def(nb::init<nb::dict, std::vector<Column>, std::vector<std::optional<Column>>, int64_t, int64_t, bool>(),
             nb::arg("forest"), nb::arg("rows"), nb::arg("points"), nb::arg("n_rows"), nb::arg("n_points"),
             nb::arg("average"))
        .def("mean", &mean, nb::arg("weight").none(), nb::arg("out").noconvert(), nb::arg("threads"),
             "Add to out (outputs × points) the sum over rows, by weight, of the trees.")
        .def("each", &each, nb::arg("out").noconvert(), nb::arg("threads"),
             "Add to out (rows × outputs × points) the trees.");
    m.def("add_shuffled", &shuffle, nb::arg("forest"), nb::arg("columns"), nb::arg("shuffled"), nb::arg("average"),
          nb::arg("out").noconvert(), nb::arg("threads"),
          "Add to out (repeats × rows × outputs) the trees, asked about the columns of each repeat where there are "
          "some.");
}

}  // namespace arboretum
