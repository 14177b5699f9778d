#include "grow/grown_tree.hpp"

#include <algorithm>
#include <iterator>

#include "base/midpoint.hpp"

namespace arboretum {

Condition GrownTree::condition(const GrownNode& node) const {
    const std::span<const uint32_t> set = set_of(node);
    return {node.kind, node.missing_left, node.feature, node.code, {set.begin(), set.end()}};
}

void GrownTree::put_condition(const Condition& condition, GrownNode& node) {
    node.kind = condition.kind;
    node.missing_left = condition.missing_left;
    node.feature = condition.feature;
    node.code = condition.threshold;
    node.first_item = static_cast<int64_t>(set_words.size());
    node.n_items = static_cast<int32_t>(condition.set.size());
    set_words.insert(set_words.end(), condition.set.begin(), condition.set.end());
}

void GrownTree::put_set(std::span<const Code> codes, size_t n_words, GrownNode& node) {
    const size_t first = set_words.size();
    const bool listed = !codes.empty() && codes.size() < n_words;  // a list is never empty
    node.kind = listed ? ConditionKind::listed : ConditionKind::category;
    node.first_item = static_cast<int64_t>(first);
    node.n_items = static_cast<int32_t>(listed ? codes.size() : n_words);
    if (listed) {
        set_words.insert(set_words.end(), codes.begin(), codes.end());
        return;
    }
    set_words.resize(first + n_words, 0);
    for (Code code : codes) set_words[first + code / 32] |= 1u << (code % 32);
}

void GrownTree::put_terms(std::span<const ProjectionTerm> summands, GrownNode& node) {
    node.first_item = static_cast<int64_t>(terms.size());
    node.n_items = static_cast<int32_t>(summands.size());
    terms.insert(terms.end(), summands.begin(), summands.end());
}

TreeFields::TreeFields(const GrownTree& tree, bool with_risk) : n_nodes(tree.nodes.size()) {
    const bool has_items = !tree.set_words.empty() || !tree.terms.empty();
    size_t bytes = 0;
    auto take = [&]<class T>(T*& field, size_t n) {
        if (memory_ != nullptr) field = reinterpret_cast<T*>(memory_.get() + bytes);
        bytes += n * sizeof(T);
    };
    auto take_all = [&] {  // the widest first, so that all are aligned
        bytes = 0;
        take(threshold, n_nodes), take(gain, n_nodes), take(n_rows, n_nodes), take(values, tree.values.size());
        if (with_risk) take(weight, n_nodes), take(risk, n_nodes);
        take(feature, n_nodes), take(left, n_nodes), take(right, n_nodes);
        if (has_items) take(n_items, n_nodes);
        take(kind, n_nodes), take(missing_left, n_nodes);
    };
    take_all();
    memory_ = make_pages<std::byte>(bytes);
    take_all();
    std::copy(tree.values.begin(), tree.values.end(), values);
    for (size_t i = 0; i < n_nodes; ++i) {
        const GrownNode& node = tree.nodes[i];
        kind[i] = static_cast<uint8_t>(node.kind);
        missing_left[i] = node.missing_left;
        feature[i] = node.feature;
        left[i] = node.left;
        right[i] = node.right;
        threshold[i] = node.threshold;
        gain[i] = node.gain;
        n_rows[i] = node.n_rows;
        if (with_risk) weight[i] = node.weight, risk[i] = node.risk;
        if (!has_items) continue;
        const std::span<const uint32_t> set = tree.set_of(node);
        const std::span<const ProjectionTerm> summands = tree.terms_of(node);
        n_items[i] = static_cast<int32_t>(set.size() + summands.size());
        set_words.insert(set_words.end(), set.begin(), set.end());
        terms.insert(terms.end(), summands.begin(), summands.end());
    }
}

size_t GrownForest::n_nodes() const {
    size_t n = 0;
    for (const TreeFields& tree : trees) n += tree.n_nodes;
    return n;
}

void GrownForest::extend(GrownForest& more) {
    trees.insert(trees.end(), std::make_move_iterator(more.trees.begin()), std::make_move_iterator(more.trees.end()));
    more.trees.clear();
}

std::vector<int32_t> parents_of(std::span<const GrownNode> nodes) {
    std::vector<int32_t> parents(nodes.size(), -1);
    for (size_t id = 0; id < nodes.size(); ++id)
        if (!nodes[id].is_leaf()) parents[nodes[id].left] = parents[nodes[id].right] = static_cast<int32_t>(id);
    return parents;
}

std::vector<double> with_means(std::span<const GrownNode> nodes, const double* of_leaves) {
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

void clip_values(std::span<const GrownNode> nodes, const std::vector<int8_t>& monotone, const Bounds& all,
                 std::span<double> values) {
    const std::vector<Bounds> bounds =
        inherit_bounds(nodes, monotone, all, [&](const GrownNode& node, const Bounds& own) {
            return midpoint(own.clip(values[node.left]), own.clip(values[node.right]));
        });
    for (size_t id = 0; id < nodes.size(); ++id) values[id] = bounds[id].clip(values[id]);
}

}  // namespace arboretum
