// kernel/explain/dependence.hpp, kernel/explain/shuffling.hpp
#include "explain/dependence.hpp"

#include "bind/columns.hpp"
#include "bind/forest_view.hpp"
#include "explain/shuffling.hpp"

namespace arboretum {

namespace {

using Cube = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// A forest and the two tables that it is asked about.
struct OwnedPairs {
    nb::dict arrays;  // of the forest, which stay alive as long as this
    ForestView forest;
    std::vector<Column> row_arrays;
    std::vector<std::optional<Column>> point_arrays;
    std::vector<RawColumn> rows, points;
    int64_t n_rows, n_points;
    Unknown unknown;

    OwnedPairs(nb::dict given, std::vector<Column> row_columns, std::vector<std::optional<Column>> point_columns,
               int64_t n_rows, int64_t n_points, bool average)
        : arrays(std::move(given)),
          forest(forest_view(arrays)),
          row_arrays(std::move(row_columns)),
          point_arrays(std::move(point_columns)),
          n_rows(n_rows),
          n_points(n_points),
          unknown(average ? Unknown::average : Unknown::missing) {
        if (row_arrays.size() != point_arrays.size())
            throw nb::value_error("give one column of points for each of rows, None where rows keep their own");
        rows = raw_columns(row_arrays, n_rows);
        for (const std::optional<Column>& column : point_arrays)
            points.push_back(column ? raw_column(*column, n_points, column_name(points.size()))
                                    : RawColumn{nullptr, 0, ValueType::float64});
    }

    PairTables tables() const { return {forest, rows.data(), points.data(), n_rows, n_points, unknown}; }
};

void mean(const OwnedPairs& self, std::optional<Vector<const double>> weight, Matrix<double> out, int threads) {
    if (weight && static_cast<int64_t>(weight->size()) != self.n_rows) throw nb::value_error("give one weight per row");
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
    const ForestView forest = forest_view(arrays);
    const int64_t n_repeats = static_cast<int64_t>(out.shape(0)), n_rows = static_cast<int64_t>(out.shape(1));
    if (static_cast<int64_t>(out.shape(2)) != forest.n_outputs || shuffled.size() != columns.size())
        throw nb::value_error(
            "out must be repeats × rows × outputs, and there must be shuffles of each column or none");
    const std::vector<RawColumn> rows = raw_columns(columns, n_rows);
    std::vector<RawColumn> repeats;
    for (const std::vector<Column>& one : shuffled) {
        if (!one.empty() && static_cast<int64_t>(one.size()) != n_repeats)
            throw nb::value_error("give one shuffled column per repeat");
        for (int64_t repeat = 0; repeat < n_repeats; ++repeat)
            repeats.push_back(one.empty() ? RawColumn{nullptr, 0, ValueType::float64}
                                          : raw_column(one[repeat], n_rows, "a shuffled column"));
    }
    GilReleased released;
    add_shuffled(
        {forest, rows.data(), repeats.data(), n_rows, n_repeats, average ? Unknown::average : Unknown::missing},
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
             "Add to out (outputs × points) the trees, summed over rows by weight.")
        .def("each", &each, nb::arg("out").noconvert(), nb::arg("threads"),
             "Add to out (rows × outputs × points) the trees.");
    m.def("add_shuffled", &shuffle, nb::arg("forest"), nb::arg("columns"), nb::arg("shuffled"), nb::arg("average"),
          nb::arg("out").noconvert(), nb::arg("threads"),
          "Add to out (repeats × rows × outputs) the trees, asked about the columns of each repeat where there are "
          "some.");
}

}  // namespace arboretum
