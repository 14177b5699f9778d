#include "grow/prune_splits.hpp"

#include <algorithm>
#include <utility>

namespace arboretum {

std::vector<uint32_t> prune_splits(std::vector<GrownNode>& nodes, double least_gain) {
    std::vector<uint8_t> splits(nodes.size(), 0);
    for (size_t id = nodes.size(); id-- > 0;) {
        if (!nodes[id].is_leaf() && nodes[id].gain > least_gain) splits[id] = 1;
        if (splits[id] && id > 0) splits[nodes[id].parent] = 1;
    }
    std::vector<uint32_t> place(nodes.size(), 0);
    size_t n_kept = 1;
    for (size_t id = 1; id < nodes.size(); ++id)
        place[id] = splits[nodes[id].parent] ? static_cast<uint32_t>(n_kept++) : place[nodes[id].parent];
    for (size_t id = 0; id < nodes.size(); ++id) {
        if (id > 0 && !splits[nodes[id].parent]) continue;
        GrownNode node = std::move(nodes[id]);
        if (!splits[id]) {
            node.condition = {};
            node.left = node.right = -1;
            node.gain = 0;
        } else {
            node.left = static_cast<int32_t>(place[node.left]);
            node.right = static_cast<int32_t>(place[node.right]);
        }
        if (id > 0) node.parent = static_cast<int32_t>(place[node.parent]);
        nodes[place[id]] = std::move(node);
    }
    nodes.resize(n_kept);
    return place;
}

}  // namespace arboretum
