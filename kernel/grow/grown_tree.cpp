#include "grow/grown_tree.hpp"

#include <algorithm>

#include "grow/gradient/split.hpp"

namespace arboretum {

std::vector<double> with_means(const std::vector<GrownNode>& nodes, const double* of_leaves) {
    std::vector<double> values(of_leaves, of_leaves + nodes.size());
    for (size_t id = nodes.size(); id-- > 0;) {
        const GrownNode& node = nodes[id];
        if (node.is_leaf()) continue;
        const double share =
            static_cast<double>(nodes[node.left].n_rows) / static_cast<double>(std::max<int64_t>(node.n_rows, 1));
        values[id] = share * values[node.left] + (1 - share) * values[node.right];
    }
    return values;
}

std::vector<double> node_values(const GrownTree& tree, const TreeParams& params, const double* renewed) {
    size_t n = tree.nodes.size();
    LeafRule rule = leaf_rule(params);
    std::vector<double> values(n), lower(n, rule.lower), upper(n, rule.upper);
    for (size_t id = 0; id < n; ++id) {
        const GrownNode& node = tree.nodes[id];
        values[id] = renewed != nullptr ? renewed[id]
                                        : rule.value(tree.wide.gradient_of(node.sum), tree.wide.hessian_of(node.sum));
        if (node.inherits) values[id] = values[node.parent];
    }
    if (params.monotone.empty()) {
        for (double& value : values) value = std::clamp(value, rule.lower, rule.upper);
        return values;
    }
    for (size_t id = 0; id < n; ++id) {
        values[id] = std::clamp(values[id], lower[id], upper[id]);
        const GrownNode& node = tree.nodes[id];
        if (node.is_leaf()) continue;
        for (int32_t child : {node.left, node.right}) {
            lower[child] = lower[id];
            upper[child] = upper[id];
        }
        int direction = params.monotone[node.condition.feature];
        if (direction == 0) continue;
        int32_t low = direction > 0 ? node.left : node.right, high = direction > 0 ? node.right : node.left;
        double middle =
            (std::clamp(values[low], lower[id], upper[id]) + std::clamp(values[high], lower[id], upper[id])) / 2;
        upper[low] = middle;
        lower[high] = middle;
    }
    return values;
}

}  // namespace arboretum
