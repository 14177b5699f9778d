// kernel/data/binned_data.hpp, kernel/data/binning.hpp, kernel/data/bundling.hpp
#include "data/binning.hpp"

#include "bind/columns.hpp"
#include "data/bundling.hpp"

namespace arboretum {

namespace {

// A compressed sparse column matrix, its entries unique and in rising order of rows.
struct SparseMatrix {
    Vector<const int64_t> start;
    Vector<const Row> rows;
    Vector<const double> values;
    int64_t n_rows;

    std::vector<SparseColumn> columns(const std::vector<int64_t>& order) const {
        std::vector<SparseColumn> columns;
        for (int64_t j : order) {
            const int64_t begin = start.data()[j], end = start.data()[j + 1];
            columns.push_back({rows.data() + begin, values.data() + begin, end - begin});
        }
        return columns;
    }
};

// Places of all features.
struct Bundles {
    std::vector<BundlePlace> places;
};

template <class Get>
auto of_places(Get&& get) {
    return [get](const Bundles& self) {
        std::vector<int32_t> values;
        for (const BundlePlace& place : self.places) values.push_back(get(place));
        return to_numpy<int32_t>(values);
    };
}

void bind_sparse(nb::module_& m) {
    nb::class_<SparseMatrix>(m, "SparseMatrix")
        .def(nb::init<Vector<const int64_t>, Vector<const Row>, Vector<const double>, int64_t>(),
             nb::arg("start").noconvert(), nb::arg("rows").noconvert(), nb::arg("values").noconvert(),
             nb::arg("n_rows"))
        .def(
            "find_cuts",
            [](const SparseMatrix& self, Vector<const Row> rows, std::optional<Vector<const double>> weights,
               int64_t max_bins, int threads) {
                std::vector<int64_t> order(self.start.size() - 1);
                std::iota(order.begin(), order.end(), 0);
                std::vector<std::vector<double>> cuts;
                {
                    GilReleased released;
                    cuts = find_sparse_cuts(self.columns(order), self.n_rows, {rows.data(), rows.data() + rows.size()},
                                            weights ? weights->data() : nullptr, max_bins, threads);
                }
                nb::list result;
                for (const std::vector<double>& c : cuts) result.append(to_numpy<double>(c));
                return result;
            },
            nb::arg("rows").noconvert(), nb::arg("weights").none(), nb::arg("max_bins"), nb::arg("threads"))
        .def(
            "assign",
            [](const SparseMatrix& self, BinnedData& data, const std::vector<int64_t>& order,
               const std::vector<std::vector<double>>& cuts,
               int threads) { return assign_sparse(data, self.columns(order), cuts, threads); },
            nb::arg("data"), nb::arg("order"), nb::arg("cuts"), nb::arg("threads"), Released());
}

void bind_bundles(nb::module_& m) {
    nb::class_<Bundles>(m, "Bundles")
        .def_prop_ro("bundle", of_places([](const BundlePlace& p) { return p.bundle; }), nb::rv_policy::automatic)
        .def_prop_ro("default_code",
                     of_places([](const BundlePlace& p) { return static_cast<int32_t>(p.default_code); }),
                     nb::rv_policy::automatic);
    m.def(
        "find_bundles",
        [](const std::vector<Column>& columns, const std::vector<std::vector<double>>& cuts,
           const std::vector<Code>& n_bins, int threads) {
            std::vector<RawColumn> raw = raw_columns(columns);
            GilReleased released;
            const int64_t n_rows = columns.empty() ? 0 : static_cast<int64_t>(columns[0].shape(0));
            return Bundles{bundle_dense(raw, n_rows, cuts, n_bins, threads)};
        },
        nb::arg("columns"), nb::arg("cuts"), nb::arg("n_bins"), nb::arg("threads"));
    m.def(
        "find_bundles",
        [](const SparseMatrix& matrix, const std::vector<int64_t>& order, const std::vector<std::vector<double>>& cuts,
           const std::vector<Code>& n_bins,
           int threads) { return Bundles{bundle_sparse(matrix.columns(order), matrix.n_rows, cuts, n_bins, threads)}; },
        nb::arg("matrix"), nb::arg("order"), nb::arg("cuts"), nb::arg("n_bins"), nb::arg("threads"), Released());
}

}  // namespace

void bind_binning(nb::module_& m) {
    bind_sparse(m);
    bind_bundles(m);
    nb::class_<BinnedData>(m, "BinnedData")
        .def(
            "__init__",
            [](BinnedData* self, int64_t n_rows, const std::vector<Code>& n_bins, const std::vector<bool>& categorical,
               const Bundles* bundles) {
                new (self) BinnedData(n_rows, n_bins, categorical,
                                      bundles != nullptr ? bundles->places : std::vector<BundlePlace>{});
            },
            nb::arg("n_rows"), nb::arg("n_bins"), nb::arg("categorical"), nb::arg("bundles").none() = nb::none())
        .def_prop_ro("n_rows", &BinnedData::n_rows)
        .def_prop_ro("n_features", &BinnedData::n_features)
        .def_prop_ro("n_bundles", &BinnedData::n_bundles)
        .def_prop_ro("size_bytes", &BinnedData::size_bytes)
        .def(
            "has_missing", [](const BinnedData& self, int32_t feature) { return self.feature(feature).has_missing; },
            nb::arg("feature"), "Whether some row has the missing code.")
        .def("list_rows", &BinnedData::list_rows, Released(),
             "List the codes of each row that are not the default of their feature, once all are written.")
        .def("mark_missing", &BinnedData::mark_missing, nb::arg("feature"),
             "Say that some row has the missing code; it may lie in another part of the table.")
        .def(
            "attach", [](BinnedData& self, Vector<uint8_t> buffer, bool mapped) { self.attach(buffer.data(), mapped); },
            nb::keep_alive<1, 2>(), nb::arg("buffer").noconvert(), nb::arg("mapped") = false)
        .def("codes",
             [](const BinnedData& self, int32_t feature) {
                 std::vector<Code> codes(self.n_rows());
                 for (int64_t row = 0; row < self.n_rows(); ++row) codes[row] = self.code(feature, row);
                 return to_numpy<Code>(codes);
             })
        .def(
            "put_codes",
            [](BinnedData& self, int32_t feature, Vector<const Code> codes, int threads) {
                return put_codes(self, feature, codes.data(), threads);
            },
            nb::arg("feature"), nb::arg("codes").noconvert(), nb::arg("threads"), Released())
        .def(
            "assign",
            [](BinnedData& self, int32_t first, const std::vector<Column>& columns,
               const std::vector<std::vector<double>>& cuts, int threads, int64_t first_row) {
                std::vector<RawColumn> raw = raw_columns(columns);
                const int64_t n_rows = columns.empty() ? 0 : static_cast<int64_t>(columns[0].shape(0));
                if (first_row < 0 || first_row + n_rows > self.n_rows())
                    throw nb::value_error("the rows do not fit into the table");
                GilReleased released;
                return assign_codes(self, first, raw, cuts, first_row, n_rows, threads);
            },
            nb::arg("first"), nb::arg("columns"), nb::arg("cuts"), nb::arg("threads"), nb::arg("first_row") = 0);
    m.def("sample_rows", [](int64_t n_rows, int64_t size) { return to_numpy<Row>(sample_rows(n_rows, size)); });
    m.def(
        "rank_columns",
        [](const std::vector<Column>& columns, int threads) {
            std::vector<RawColumn> raw = raw_columns(columns);
            std::vector<RankedColumn> ranked;
            {
                GilReleased released;
                ranked = rank_columns(raw, columns.empty() ? 0 : columns[0].shape(0), threads);
            }
            nb::list result;
            for (const RankedColumn& column : ranked)
                result.append(nb::make_tuple(to_numpy<double>(column.values), to_numpy<Code>(column.codes)));
            return result;
        },
        nb::arg("columns"), nb::arg("threads"));
    m.def(
        "find_cuts",
        [](const std::vector<Column>& columns, Vector<const Row> rows, std::optional<Vector<const double>> weights,
           int64_t max_bins, int threads) {
            std::vector<RawColumn> raw = raw_columns(columns);
            std::vector<Row> sample(rows.data(), rows.data() + rows.size());
            std::vector<std::vector<double>> cuts;
            {
                GilReleased released;
                cuts = find_cuts(raw, sample, weights ? weights->data() : nullptr, max_bins, threads);
            }
            nb::list result;
            for (const std::vector<double>& c : cuts) result.append(to_numpy<double>(c));
            return result;
        },
        nb::arg("columns"), nb::arg("rows").noconvert(), nb::arg("weights").none(), nb::arg("max_bins"),
        nb::arg("threads"));
}

}  // namespace arboretum
