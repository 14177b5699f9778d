// A tree as it is grown, in code space; model/forest.py freezes it in the user's units.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "grow/gradient/lanes.hpp"

namespace arboretum {

struct GrownNode {
    Condition condition;
    int32_t left = -1, right = -1, parent = -1;
    int32_t depth = 0;
    int64_t n_rows = 0;
    double gain = 0;
    WideSum sum;            // exact, in wide units
    bool inherits = false;  // too few rows or hessians for a value of its own (symmetric trees): takes its parent's
    bool is_leaf() const { return left < 0; }
};

struct GrownTree {
    std::vector<GrownNode> nodes;
    LaneScale wide;
    bool packed = true;
};

// Values of the leaves as they are; inner nodes get the mean of their children's, by rows.
std::vector<double> with_means(const std::vector<GrownNode>& nodes, const double* of_leaves);

// Values of all nodes, the children after their parent: Newton steps, or `renewed` ones from the loss. Nodes that
// inherit take their parent's. Then, top down, every node is clipped to the bounds that its monotone ancestors set; a
// split on a monotone feature bounds its children by the middle of their values, in the units of the values themselves,
// so that the order holds for any loss and any way to find leaf values.
std::vector<double> node_values(const GrownTree& tree, const TreeParams& params, const double* renewed);

}  // namespace arboretum
