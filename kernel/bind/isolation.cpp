// kernel/grow/isolation.hpp, kernel/explain/path_contributions.hpp
#include "grow/isolation.hpp"

#include "bind/arrays.hpp"
#include "explain/path_contributions.hpp"

namespace arboretum {

namespace {

using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

RawColumn raw_column(const Column& array) {
    const ValueType type = array.dtype() == nb::dtype<float>()    ? ValueType::float32
                           : array.dtype() == nb::dtype<double>() ? ValueType::float64
                                                                  : ValueType::category;
    if (type == ValueType::category && array.dtype() != nb::dtype<int32_t>())
        throw nb::type_error("a column must be float32, float64 or int32");
    return {static_cast<const char*>(array.data()), array.stride(0) * static_cast<int64_t>(array.itemsize()), type};
}

std::vector<RawColumn> raw_columns(const std::vector<Column>& arrays) {
    std::vector<RawColumn> columns;
    for (const Column& array : arrays) columns.push_back(raw_column(array));
    return columns;
}

// Columns of a table; they stay alive as long as this.
struct OwnedTable {
    std::vector<Column> arrays;
    IsolationTable table;

    OwnedTable(std::vector<Column> given, std::vector<std::vector<uint64_t>> category_keys)
        : arrays(std::move(given)), table{raw_columns(arrays), std::move(category_keys)} {
        if (table.category_keys.size() != arrays.size())
            throw nb::value_error("give keys of categories for each column");
    }
};

void bind_table(nb::module_& m) {
    nb::class_<OwnedTable>(m, "IsolationTable", "Columns of a table, uncopied, and keys of their categories by code.")
        .def(nb::init<std::vector<Column>, std::vector<std::vector<uint64_t>>>(), nb::arg("columns"),
             nb::arg("category_keys"))
        .def(
            "content_keys",
            [](const OwnedTable& self, Vector<uint64_t> keys, Vector<uint8_t> missing, int threads) {
                content_keys(self.table.columns, self.table.category_keys, static_cast<int64_t>(keys.size()), threads,
                             keys.data(), missing.data());
            },
            nb::arg("keys").noconvert(), nb::arg("missing").noconvert(), nb::arg("threads"), Released(),
            "Fill keys with a hash of each row's content; set missing to 1 for columns that have such values.");
    m.def(
        "order_by_key",
        [](Vector<const uint64_t> keys) {
            return to_numpy<Row>(order_by_key(keys.data(), static_cast<int64_t>(keys.size())));
        },
        nb::arg("keys").noconvert());
}

void bind_forest(nb::module_& m) {
    nb::class_<IsolationSample>(m, "IsolationSample", "Rows that trees draw from; n_draws = 0 takes them all.")
        .def(
            "__init__",
            [](IsolationSample* self, Vector<const Row> pool, std::optional<Vector<const double>> weight,
               int64_t n_draws, bool with_replacement) {
                new (self) IsolationSample{n_draws, with_replacement, {pool.data(), pool.data() + pool.size()}, {}};
                if (weight) self->weight.assign(weight->data(), weight->data() + weight->size());
            },
            nb::arg("pool"), nb::arg("weight").none(), nb::arg("n_draws"), nb::arg("with_replacement"))
        .def(
            "rows",
            [](const IsolationSample& self, uint64_t seed, int64_t tree) {
                return to_numpy<Row>(self.rows(seed, tree));
            },
            nb::arg("seed"), nb::arg("tree"));
    nb::class_<IsolationRules>(m, "IsolationRules")
        .def(nb::init<int, int32_t, int32_t>(), nb::arg("max_depth"), nb::arg("max_features"), nb::arg("max_terms"))
        .def_ro("max_depth", &IsolationRules::max_depth)
        .def_ro("max_features", &IsolationRules::max_features)
        .def_ro("max_terms", &IsolationRules::max_terms);
    m.def(
        "grow_isolation",
        [](const OwnedTable& table, const IsolationSample& sample, const IsolationRules& rules, int64_t first,
           int64_t n, uint64_t seed,
           int threads) { return grow_isolation(table.table, sample, rules, {first, n, seed}, threads); },
        nb::arg("table"), nb::arg("sample"), nb::arg("rules"), nb::arg("first"), nb::arg("n"), nb::arg("seed"),
        nb::arg("threads"), Released());
}

double path_contributions(Vector<const int64_t> tree_start, Vector<const uint8_t> kind, Vector<const int32_t> feature,
                          Vector<const double> threshold, Vector<const int32_t> left, Vector<const int32_t> right,
                          Vector<const uint8_t> missing_left, Vector<const int64_t> set_start,
                          Vector<const uint32_t> set_words, Vector<const double> value, Vector<const int64_t> n_rows,
                          Vector<const int64_t> projection_start, Vector<const int32_t> projection_feature,
                          Vector<const double> projection_weight, Vector<const double> projection_fill,
                          const std::vector<Column>& columns, Matrix<double> out, bool average, int threads) {
    ForestView forest{};
    forest.n_trees = static_cast<int64_t>(tree_start.size()) - 1;
    forest.n_nodes = static_cast<int64_t>(kind.size());
    forest.tree_start = tree_start.data();
    forest.kind = kind.data();
    forest.feature = feature.data();
    forest.threshold = threshold.data();
    forest.left = left.data();
    forest.right = right.data();
    forest.missing_left = missing_left.data();
    forest.set_start = set_start.data();
    forest.set_words = set_words.data();
    forest.value = value.data();
    forest.n_rows = n_rows.data();
    forest.projection_start = projection_start.data();
    forest.projection_feature = projection_feature.data();
    forest.projection_weight = projection_weight.data();
    forest.projection_fill = projection_fill.data();
    const std::vector<RawColumn> raw = raw_columns(columns);
    GilReleased released;
    return add_path_contributions(forest, raw.data(), static_cast<int64_t>(out.shape(0)),
                                  static_cast<int64_t>(out.shape(1)), average ? Unknown::average : Unknown::missing,
                                  threads, out.data());
}

}  // namespace

void bind_isolation(nb::module_& m) {
    bind_table(m);
    bind_forest(m);
    m.def(
        "path_contributions", &path_contributions, nb::arg("tree_start"), nb::arg("kind"), nb::arg("feature"),
        nb::arg("threshold"), nb::arg("left"), nb::arg("right"), nb::arg("missing_left"), nb::arg("set_start"),
        nb::arg("set_words"), nb::arg("value"), nb::arg("n_rows"), nb::arg("projection_start"),
        nb::arg("projection_feature"), nb::arg("projection_weight"), nb::arg("projection_fill"), nb::arg("columns"),
        nb::arg("out").noconvert(), nb::arg("average"), nb::arg("threads"),
        "Add to out (rows × features) what the splits of each row's paths change; give the mean that they start from.");
}

}  // namespace arboretum
