// Which features share a stored column: exclusive feature bundling (Ke et al. 2017, "LightGBM", algorithms 3 and 4)
// without any conflicts, so that a bundled table grows exactly the trees of the plain one.
//
//   feature   default code, the rows that have another one
//   f0        . . x . . . x .          f0, f1 and f3 may share a column: no row has two crosses.
//   f1        x . . . . . . .          f2 meets f0 in row 2.
//   f2        . . x . x . . .
//   f3        . . . . x x . .          bundles: { f0 f1 f3 }, and f2 as it is
//
// Finding the fewest bundles is colouring a graph. Here each feature joins the youngest bundle that it does not meet,
// once in the order of features (the columns of one category are neighbours), once by falling number of rows; the
// order that needs fewer bundles counts. Candidates of a dense table are looked for in a sample of its rows.
#pragma once

#include <vector>

#include "data/binning.hpp"

namespace arboretum {

// A place for every feature; none if bundles would save little.
std::vector<BundlePlace> bundle_dense(const std::vector<RawColumn>& columns, int64_t n_rows,
                                      const std::vector<std::vector<double>>& cuts, const std::vector<Code>& n_bins,
                                      int threads);

// The same for a compressed matrix, where 0 has the default code.
std::vector<BundlePlace> bundle_sparse(const std::vector<SparseColumn>& columns, int64_t n_rows,
                                       const std::vector<std::vector<double>>& cuts, const std::vector<Code>& n_bins,
                                       int threads);

}  // namespace arboretum
