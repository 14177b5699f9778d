// Leaves of many rows, on codes.
//
// A small tree is not walked row by row, where every step waits for a load and half of the branches are mispredicted,
// but node by node over a block of rows, parents first:
//
//   at        0 0 0 0 0 0 0 0       node of each row, a byte; a node moves the rows that stand at it
//   node 0    1 2 1 1 2 2 1 2       code <= threshold ? 1 : 2
//   node 1    3 2 4 3 2 2 4 2       …
//
// Codes of one feature lie side by side, so a step takes as many rows as a vector register has bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "data/binned_data.hpp"
#include "grow/grown_tree.hpp"

namespace arboretum {

// Leaf of a row, walking the tree from a node that the row is known to reach.
uint32_t route_codes(const GrownTree& tree, const BinnedData& data, int64_t row, uint32_t from = 0);

class RowRouter {
  public:
    static constexpr int64_t block = 16384;  // long enough for the processor to fetch columns ahead

    RowRouter(const GrownTree& tree, const BinnedData& data);

    // Whether a node fits a byte, and stepping through all nodes is less work than walking.
    bool small() const { return tree_.nodes.size() <= 256; }

    // Leaves of rows [begin, end), at most `block` of them, in a small tree.
    void route_small(int64_t begin, int64_t end, uint8_t* leaves) const;

    // Leaf of every row of the table.
    void route_all(int threads, uint32_t* leaves) const;

  private:
    bool by_threshold(const GrownNode& node) const {
        return node.kind == ConditionKind::numeric && data_.feature(node.feature).bundle < 0;
    }

    void step(size_t id, int64_t begin, int64_t n, uint8_t* at) const;

    template <class C>
    void step_on(const C* codes, size_t id, int64_t n, uint8_t* at) const;

    const GrownTree& tree_;
    const BinnedData& data_;
    std::vector<std::vector<uint8_t>> left_tables_;  // of conditions on categories or bundles, by stored code
};

// raw[row] += node_values[leaf of row] for every row of the table.
void add_node_values(const GrownTree& tree, const BinnedData& data, const double* node_values, int threads,
                     double* raw);

}  // namespace arboretum
