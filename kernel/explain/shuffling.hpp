// Predictions of a forest for rows with some columns shuffled, several times at once:
//
//   out(repeat, row) = Σ_trees f(columns of the row, but `shuffled` columns of the repeat)
//
// Rows go down a tree together until a condition reads a shuffled column; from there on each repeat goes its own way. A
// row whose path never meets such a condition is routed once for all repeats. Sums are in the order of the trees.
#pragma once

#include <cstdint>

#include "data/raw_column.hpp"
#include "forest/forest.hpp"

namespace arboretum {

// shuffled: features × repeats; null data for features that are not shuffled.
struct ShuffledTables {
    ForestView forest;
    const RawColumn *rows, *shuffled;
    int64_t n_rows, n_repeats;
    Unknown unknown;
};

// out (repeats × rows × outputs) += trees.
void add_shuffled(const ShuffledTables& tables, int threads, double* out);

}  // namespace arboretum
