// From gradients and hessians to a tree: scales, quantises, grows, and sums the leaves exactly.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/buffer.hpp"
#include "data/binned_data.hpp"
#include "grow/gradient/lanes.hpp"
#include "grow/gradient/row_leaves.hpp"
#include "grow/gradient/tree_sample.hpp"
#include "grow/gradient/workspace.hpp"
#include "grow/grown_tree.hpp"

namespace arboretum {

class Grower {
  public:
    Grower(const BinnedData& data, int threads);

    Grower(const Grower&) = delete;
    Grower& operator=(const Grower&) = delete;

    // Real: double for tables of up to 65,536 rows, float for larger ones (see lanes.hpp).
    // rows: rising row numbers of the sample, or null for all rows. factor: what multiplies gradient and hessian of
    // each, or null for 1.
    template <class Real>
    GrownTree grow(const Real* gradients, const Real* hessians, const Row* rows, const double* factor, int64_t n_rows,
                   const TreeParams& params, uint64_t seed);

    // Of the last tree.
    RowLeaves& leaves() { return leaves_; }
    const RowLeaves& leaves() const { return leaves_; }

  private:
    template <class Layout, class Real>
    GrownTree grow_as(const TreeSample<Real>& sample, const LaneScale& scale, const TreeParams& params, uint64_t seed);

    const BinnedData& data_;
    int threads_;
    std::vector<Row> median_rows_;
    LaneUnits lane_units_;  // of the last tree
    Workspace space_;
    std::array<Buffer, 2> sampled_;  // gradients and hessians of a sample
    RowLeaves leaves_;
};

}  // namespace arboretum
