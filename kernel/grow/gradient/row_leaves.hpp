// The leaf of every row of a table in the tree that was grown last, and sums over leaves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.hpp"
#include "base/parallel.hpp"
#include "data/binned_data.hpp"
#include "grow/gradient/lanes.hpp"
#include "grow/gradient/tree_sample.hpp"
#include "grow/grown_tree.hpp"
#include "grow/row_numbers.hpp"

namespace arboretum {

class RowLeaves {
  public:
    // Rows that are known to reach a node of the tree, a leaf or not.
    struct Group {
        RowNumbers rows;
        uint32_t node;
    };

    RowLeaves(const BinnedData& data, int threads) : data_(data), threads_(threads) {}

    // rows: rising numbers of the sample that the tree was grown from, or null for all rows. groups: these rows.
    void find(const GrownTree& tree, const Row* rows, int64_t n_rows, std::span<const Group> groups);

    // Prunes the tree, and moves rows to the leaves that are left.
    void prune(GrownTree& tree, double least_gain);

    std::span<const uint32_t> leaf_of_row() const;

    // raw[row] += node_values[leaf of row]
    void add_values(const double* node_values, double* raw) const;

    // Exact sums of the sample in every leaf; 0 in other nodes.
    template <class Real>
    std::vector<WideSum> sum(const TreeSample<Real>& sample, const LaneScale& wide, size_t n_nodes) const {
        std::vector<std::vector<WideSum>> partial(threads_);
        with_leaves([&](const auto* leaves) {
            parallel_blocks(sample.n_rows, 16384, threads_, [&](int64_t begin, int64_t end, int worker) {
                std::vector<WideSum>& sums = partial[worker];
                sums.resize(n_nodes);
                for (int64_t i = begin; i < end; ++i)
                    sums[leaves[sample.row(i)]] += wide_stat(sample.gradients[i], sample.hessians[i], wide);
            });
        });
        std::vector<WideSum> total(n_nodes);
        for (const std::vector<WideSum>& sums : partial)
            for (size_t id = 0; id < sums.size(); ++id) total[id] += sums[id];
        return total;
    }

  private:
    // use(leaves), in the form that the last tree left them.
    template <class Use>
    void with_leaves(Use&& use) const {
        if (are_small_)
            use(small_.get<uint8_t>());
        else
            use(large_.get<uint32_t>());
    }

    // Rows outside the sample find their leaf by walking.
    void walk_others(const GrownTree& tree, const Row* rows, int64_t n_rows);

    const BinnedData& data_;
    int threads_;
    mutable Buffer large_;  // filled when it is asked for
    Buffer small_;          // the same in bytes, for a tree of up to 256 nodes
    mutable bool are_small_ = false;
};

// Gives all nodes the sums of their gradients and hessians, and says which nodes of a symmetric tree inherit values.
void put_node_sums(std::vector<WideSum> of_leaves, const LaneScale& wide, const TreeParams& params, GrownTree& tree);

}  // namespace arboretum
