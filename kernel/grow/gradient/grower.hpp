// From gradients and hessians to a tree: scales, quantises, grows, and sums the leaves exactly.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.hpp"
#include "data/binned_data.hpp"
#include "grow/gradient/lanes.hpp"
#include "grow/gradient/workspace.hpp"
#include "grow/grown_tree.hpp"

namespace arboretum {

class TreeBuilder;

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

    // Prunes the last tree, and moves rows to the leaves that are left.
    void prune(GrownTree& tree, double least_gain);

    // Node of the leaf that each row of the table reached in the last tree.
    std::span<const uint32_t> leaf_of_row() const;

    // raw[row] += node_values[leaf of row]
    void add_values(const double* node_values, double* raw) const;

  private:
    // use(leaves), in the form that the last tree left them.
    template <class Use>
    void with_leaves(Use&& use) const {
        if (leaves_are_small_)
            use(small_leaves_.get<uint8_t>());
        else
            use(large_leaves_.get<uint32_t>());
    }

    template <class Layout, class Real>
    GrownTree grow_as(const Real* gradients, const Real* hessians, const Row* rows, int64_t n_rows,
                      const LaneScale& scale, const TreeParams& params, uint64_t seed);

    // Leaves of all rows of the last tree. rows: of the sample, or null.
    void find_leaves(const GrownTree& tree, const TreeBuilder& builder, const Row* rows, int64_t n_rows);

    // Both in one pass: it is bound by memory, and half of what it reads are rows and factors.
    template <class Real>
    void gather(const Real* gradients, const Real* hessians, const Row* rows, const double* factor, int64_t n);

    // Rows outside the sample find their leaf by walking.
    void walk_others(const GrownTree& tree, const Row* rows, int64_t n_rows);

    // Exact sums of the sample's gradients and hessians in every node.
    template <class Real>
    void sum_leaves(GrownTree& tree, const LaneScale& scale, const Real* gradients, const Real* hessians,
                    const Row* rows, int64_t n_rows) const;

    const BinnedData& data_;
    int threads_;
    std::vector<Row> median_rows_;
    LaneUnits lane_units_;  // of the last tree
    Workspace space_;
    std::array<Buffer, 2> sampled_;  // gradients and hessians of a sample
    mutable Buffer large_leaves_;    // leaf_of_row, filled when it is asked for
    Buffer small_leaves_;            // the same in bytes, for a tree of up to 256 nodes
    mutable bool leaves_are_small_ = false;
};

}  // namespace arboretum
