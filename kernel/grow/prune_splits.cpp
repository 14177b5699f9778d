#include "grow/prune_splits.hpp"

#include <algorithm>

namespace arboretum {

std::vector<uint32_t> prune_splits(GrownTree& tree, double least_gain) {
    std::vector<GrownNode>& nodes = tree.nodes;
    std::vector<uint8_t> splits(nodes.size(), 0);
    for (size_t id = nodes.size(); id-- > 0;) {
        const GrownNode& node = nodes[id];
        if (!node.is_leaf()) splits[id] = node.gain > least_gain || splits[node.left] || splits[node.right];
    }
    const std::vector<int32_t> parents = parents_of(nodes);
    std::vector<uint32_t> place(nodes.size(), 0);
    uint32_t n_kept = 1;
    for (size_t id = 1; id < nodes.size(); ++id) place[id] = splits[parents[id]] ? n_kept++ : place[parents[id]];
    for (size_t id = 0; id < nodes.size(); ++id) {  // a node never moves up
        if (id > 0 && !splits[parents[id]]) continue;
        GrownNode node = nodes[id];
        if (splits[id]) {
            node.left = static_cast<int32_t>(place[node.left]);
            node.right = static_cast<int32_t>(place[node.right]);
        } else {
            node = {.n_rows = node.n_rows, .inherits = node.inherits};
        }
        nodes[place[id]] = node;
        tree.gradients[place[id]] = tree.gradients[id];
        tree.hessians[place[id]] = tree.hessians[id];
    }
    nodes.resize(n_kept);
    tree.gradients.resize(n_kept);
    tree.hessians.resize(n_kept);
    return place;
}

}  // namespace arboretum
