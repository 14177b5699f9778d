// kernel/leaves/linear_leaves.hpp
#include "leaves/linear_leaves.hpp"

#include "bind/columns.hpp"

namespace arboretum {

namespace {

// Numeric columns of a table, by binned feature; they stay alive as long as this. Categories are never read.
struct NumberColumns {
    std::vector<Column> arrays;
    std::vector<RawColumn> columns;

    explicit NumberColumns(std::vector<Column> given) : arrays(std::move(given)), columns(raw_columns(arrays)) {}
};

template <class Real>
LeafSlopes fit(const GrownTree& tree, const NumberColumns& numbers, Vector<const uint32_t> leaf_of_row,
               std::optional<Vector<const Row>> members, Vector<const Real> gradients, Vector<const Real> hessians,
               std::optional<Vector<const double>> factor, Vector<const double> values, const LinearRules& rules,
               int threads) {
    const TableGradients<Real> of{gradients.data(), hessians.data(), factor ? factor->data() : nullptr};
    const int64_t n = static_cast<int64_t>(members ? members->size() : leaf_of_row.size());
    return fit_slopes(tree.nodes, leaf_of_row.data(), members ? members->data() : nullptr, n, numbers.columns.data(),
                      of, values.data(), rules, threads);
}

template <class Real>
void bind_fit(nb::module_& m) {
    m.def("fit_slopes", &fit<Real>, nb::arg("tree"), nb::arg("numbers"), nb::arg("leaf_of_row").noconvert(),
          nb::arg("members").noconvert().none(), nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
          nb::arg("factor").noconvert().none(), nb::arg("values").noconvert(), nb::arg("rules"), nb::arg("threads"),
          Released());
}

template <class T>
void term_property(nb::class_<LeafSlopes>& cls, const char* name, T SlopeTerm::* member) {
    auto read = [member](const LeafSlopes& slopes) {
        std::vector<T> items;
        for (const SlopeTerm& term : slopes.terms) items.push_back(term.*member);
        return to_numpy<T>(items);
    };
    cls.def_prop_ro(name, read, nb::rv_policy::automatic);
}

}  // namespace

void bind_linear_leaves(nb::module_& m) {
    nb::class_<NumberColumns>(m, "NumberColumns", "Columns of a table in the order of binned features, uncopied.")
        .def(nb::init<std::vector<Column>>(), nb::arg("columns"));
    nb::class_<LinearRules>(m, "LinearRules")
        .def(nb::init<>())
        .def_rw("l2", &LinearRules::l2)
        .def_prop_rw(
            "lower", [](const LinearRules& r) { return r.bounds.lower; },
            [](LinearRules& r, double lower) { r.bounds.lower = lower; })
        .def_prop_rw(
            "upper", [](const LinearRules& r) { return r.bounds.upper; },
            [](LinearRules& r, double upper) { r.bounds.upper = upper; })
        .def_rw("monotone", &LinearRules::monotone);
    nb::class_<LeafSlopes> slopes(m, "LeafSlopes");
    slopes
        .def_prop_ro(
            "start", [](const LeafSlopes& self) { return to_numpy<int64_t>(self.start); }, nb::rv_policy::automatic)
        .def("scaled", &LeafSlopes::scaled, nb::arg("factor"))
        .def(
            "add",
            [](const LeafSlopes& self, const NumberColumns& numbers, Vector<const uint32_t> leaf_of_row,
               Vector<const double> values, int threads, Vector<double> raw) {
                self.add(numbers.columns.data(), leaf_of_row.data(), static_cast<int64_t>(leaf_of_row.size()),
                         values.data(), threads, raw.data());
            },
            nb::arg("numbers"), nb::arg("leaf_of_row").noconvert(), nb::arg("values").noconvert(), nb::arg("threads"),
            nb::arg("raw").noconvert(), Released(), "raw += the prediction of each row's leaf.");
    term_property(slopes, "feature", &SlopeTerm::feature);
    term_property(slopes, "weight", &SlopeTerm::weight);
    term_property(slopes, "centre", &SlopeTerm::centre);
    term_property(slopes, "low", &SlopeTerm::low);
    term_property(slopes, "high", &SlopeTerm::high);
    bind_fit<float>(m);
    bind_fit<double>(m);
}

}  // namespace arboretum
