// kernel/correct/conformal.hpp and kernel/correct/isotonic.hpp
#include "bind/arrays.hpp"
#include "correct/conformal.hpp"
#include "correct/isotonic.hpp"

namespace arboretum {

void bind_calibrating(nb::module_& m) {
    m.def(
        "interval_ends",
        [](Matrix<const double> shift, std::optional<Matrix<const double>> scale, Vector<const double> scores,
           Vector<const double> mass, Vector<const int64_t> start, double needed, int threads, Vector<double> out) {
            ScoreLists lists{scores.data(), mass.data(), start.data(), static_cast<int64_t>(shift.shape(1))};
            interval_ends(shift.data(), scale ? scale->data() : nullptr, static_cast<int64_t>(shift.shape(0)), lists,
                          needed, threads, out.data());
        },
        nb::arg("shift").noconvert(), nb::arg("scale").noconvert().none(), nb::arg("scores").noconvert(),
        nb::arg("mass").noconvert(), nb::arg("start").noconvert(), nb::arg("needed"), nb::arg("threads"),
        nb::arg("out").noconvert(), Released());
    m.def(
        "pool_adjacent_violators",
        [](Vector<const double> values, Vector<const double> weight, Vector<double> out) {
            pool_adjacent_violators(values.data(), weight.data(), static_cast<int64_t>(values.size()), out.data());
        },
        nb::arg("values").noconvert(), nb::arg("weight").noconvert(), nb::arg("out").noconvert(), Released());
}

}  // namespace arboretum
