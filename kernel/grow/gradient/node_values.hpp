// Values of the nodes of a tree grown from gradients.
#pragma once

#include <vector>

#include "grow/grown_tree.hpp"

namespace arboretum {

// Newton steps, or `renewed` values from the loss. Nodes that inherit take their parent's. Then every node is clipped
// to the longest step and to the bounds that its monotone ancestors set.
std::vector<double> node_values(const GrownTree& tree, const TreeParams& params, const double* renewed);

}  // namespace arboretum
