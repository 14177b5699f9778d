// What Python does with the leaves of the rows of the last tree, whoever has grown it.
#pragma once

#include "bind/arrays.hpp"
#include "grow/gradient/row_leaves.hpp"

namespace arboretum {

template <class Grown>
void bind_leaves(nb::class_<Grown>& cls) {
    cls.def(
           "prune", [](Grown& self, GrownTree& tree, double least_gain) { self.leaves().prune(tree, least_gain); },
           nb::arg("tree"), nb::arg("least_gain"), Released())
        .def(
            "add_values",
            [](const Grown& self, Vector<const double> values, Vector<double> raw) {
                self.leaves().add_values(values.data(), raw.data());
            },
            nb::arg("values").noconvert(), nb::arg("raw").noconvert(), Released())
        .def_prop_ro(
            "leaf_of_row", [](const Grown& self) { return to_numpy<uint32_t>(self.leaves().leaf_of_row()); },
            nb::rv_policy::automatic);
}

}  // namespace arboretum
