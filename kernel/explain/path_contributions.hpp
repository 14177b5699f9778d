// What each column of a row contributed to its prediction, along the paths that the row takes (Saabas 2014).
//
//   E(node)   mean of the leaf values below it, by training rows
//   a split of a path from node to child adds E(child) − E(node) to its column
//
// so that the columns of a row sum to  Σ_trees value(leaf) − E(root).  Columns of an oblique condition share in
// proportion to |weight · (value − fill)|, the distance of their terms from those of a missing value. If an unknown
// category takes both children, both paths count by their shares.
//
// These are not Shapley values (shap.hpp), and a row costs a path per tree, not all edges: on isolation forests of 100
// trees and 10 columns 12 µs against 44 µs, and with hyperplanes of three columns 20 µs against 140 µs.
#pragma once

#include <cstdint>

#include "data/raw_column.hpp"
#include "forest/forest.hpp"

namespace arboretum {

// Adds the contributions to out (rows × features), which holds zeros; returns Σ_trees E(root). Leaves have one value.
double add_path_contributions(const ForestView& forest, const RawColumn* columns, int64_t n_rows, int64_t n_features,
                              Unknown unknown, int threads, double* out);

}  // namespace arboretum
