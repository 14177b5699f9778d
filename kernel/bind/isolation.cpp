// kernel/grow/isolation.hpp
#include "grow/isolation.hpp"

#include "bind/columns.hpp"

namespace arboretum {

namespace {

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

}  // namespace

void bind_isolation(nb::module_& m) {
    bind_table(m);
    bind_forest(m);
}

}  // namespace arboretum
