// kernel/binned_data.hpp, kernel/binning.hpp
#include "binning.hpp"

#include "arrays.hpp"

namespace arboretum {

namespace {

using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

RawColumn raw_column(const Column& array) {
    ValueType type = array.dtype() == nb::dtype<float>()    ? ValueType::float32
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

}  // namespace

void bind_binning(nb::module_& m) {
    nb::class_<BinnedData>(m, "BinnedData")
        .def("__init__",
             [](BinnedData* self, int64_t n_rows, const std::vector<Code>& n_bins,
                const std::vector<bool>& categorical) { new (self) BinnedData(n_rows, n_bins, categorical); })
        .def_prop_ro("n_rows", &BinnedData::n_rows)
        .def_prop_ro("n_features", &BinnedData::n_features)
        .def_prop_ro("size_bytes", &BinnedData::size_bytes)
        .def(
            "attach", [](BinnedData& self, Vector<uint8_t> buffer) { self.attach(buffer.data()); },
            nb::keep_alive<1, 2>(), nb::arg("buffer").noconvert())
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
        .def("assign", [](BinnedData& self, int32_t first, const std::vector<Column>& columns,
                          const std::vector<std::vector<double>>& cuts, int threads) {
            std::vector<RawColumn> raw = raw_columns(columns);
            nb::gil_scoped_release release;
            return CodeAssigner(self, first, raw, cuts).run(threads);
        });
    m.def("sample_rows", [](int64_t n_rows, int64_t size) { return to_numpy<Row>(sample_rows(n_rows, size)); });
    m.def(
        "rank_columns",
        [](const std::vector<Column>& columns, int threads) {
            std::vector<RawColumn> raw = raw_columns(columns);
            std::vector<RankedColumn> ranked;
            {
                nb::gil_scoped_release release;
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
                nb::gil_scoped_release release;
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
