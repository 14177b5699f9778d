#include "grow/gradient/node_values.hpp"

#include "grow/gradient/split.hpp"

namespace arboretum {

std::vector<double> node_values(const GrownTree& tree, const TreeParams& params, const double* renewed) {
    const LeafRule rule = leaf_rule(params);
    std::vector<double> values(tree.nodes.size());
    for (size_t id = 0; id < values.size(); ++id)
        values[id] = renewed != nullptr ? renewed[id] : rule.value(tree.gradients[id], tree.hessians[id]);
    for (size_t id = 0; id < values.size(); ++id) {
        const GrownNode& node = tree.nodes[id];
        if (node.is_leaf()) continue;
        for (int32_t child : {node.left, node.right})
            if (tree.nodes[child].inherits) values[child] = values[id];
    }
    clip_values(tree.nodes, params.monotone, rule.bounds, values);
    return values;
}

}  // namespace arboretum
