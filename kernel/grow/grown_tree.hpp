// A tree as it is grown; growing/grower.py freezes it to a Forest.
//
//   nodes       │ root │ … │        children come after their parent
//   values      │ width numbers │ … │                                  per node
//   gradients   │ Σ gradient │ … │   hessians   │ Σ hessian │ … │      per node; only of trees grown from gradients
//   set_words   │ bits or codes of a category condition │ … │ ┐ each node names its first item and how many there are
//   terms       │ summands of an oblique condition │ … │      ┘
//
// Trees of gradients hold thresholds as codes, all others in the user's units. Trees of gradients get their values once
// the loss has renewed its leaves (gradient/node_values.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.hpp"
#include "base/types.hpp"
#include "forest/route.hpp"
#include "grow/bounds.hpp"

namespace arboretum {

struct GrownNode {
    double threshold = 0;    // of a numeric or oblique condition, in the user's units
    double gain = 0;         // of impurity: fall of weight · impurity
    double weight = 0;       // Σ weight of its rows, copies counted
    double risk = 0;         // weight · impurity
    int64_t n_rows = 0;      // rows, counted by draws and whole weights
    int64_t first_item = 0;  // in set_words or terms
    int32_t n_items = 0;
    int32_t left = -1, right = -1;
    int32_t feature = -1;
    Code code = 0;  // the last one that a numeric condition sends left
    ConditionKind kind = ConditionKind::leaf;
    bool missing_left = false;
    bool inherits = false;  // too few rows or hessians for a value of its own (symmetric trees): takes its parent's

    bool is_leaf() const { return kind == ConditionKind::leaf; }
    bool is_on_categories() const { return kind == ConditionKind::category || kind == ConditionKind::listed; }
};

struct GrownTree {
    std::vector<GrownNode> nodes;
    std::vector<double> values;
    std::vector<double> gradients, hessians;
    std::vector<uint32_t> set_words;
    std::vector<ProjectionTerm> terms;
    bool packed = true;  // whether gradients were summed in narrow lanes (gradient/lanes.hpp)

    // Keeps its memory.
    void clear() {
        nodes.clear(), values.clear(), gradients.clear(), hessians.clear(), set_words.clear(), terms.clear();
    }

    // Words of a category condition; empty for all others.
    std::span<const uint32_t> set_of(const GrownNode& node) const {
        if (!node.is_on_categories()) return {};
        return std::span(set_words).subspan(node.first_item, node.n_items);
    }
    // Summands of an oblique condition; empty for all others.
    std::span<const ProjectionTerm> terms_of(const GrownNode& node) const {
        if (node.kind != ConditionKind::oblique) return {};
        return std::span(terms).subspan(node.first_item, node.n_items);
    }

    // The condition of a node in code space.
    Condition condition(const GrownNode& node) const;

    bool goes_left(const GrownNode& node, Code code, Code n_bins) const {
        if (code == n_bins) return node.missing_left;
        if (node.kind == ConditionKind::numeric) return code <= node.code;
        const std::span<const uint32_t> set = set_of(node);
        return code / 32 < set.size() && ((set[code / 32] >> (code % 32)) & 1u) != 0;
    }

    // Gives a condition in code space to a node; a set is kept as bits.
    void put_condition(const Condition& condition, GrownNode& node);

    // Gives a set of rising codes to a node: as bits, or as a list if that is shorter. n_words: of the bits.
    void put_set(std::span<const Code> codes, size_t n_words, GrownNode& node);

    void put_terms(std::span<const ProjectionTerm> summands, GrownNode& node);
};

// The nodes of a finished tree, field by field, in one piece of memory: half of what they take while the tree grows.
struct TreeFields {
    size_t n_nodes = 0;
    double *threshold = nullptr, *gain = nullptr, *values = nullptr;  // values: node × width
    double *weight = nullptr, *risk = nullptr;                        // only if asked for: what pruning needs
    int64_t* n_rows = nullptr;
    int32_t *feature = nullptr, *left = nullptr, *right = nullptr;
    int32_t* n_items = nullptr;  // words or terms of each node; null if there are none
    uint8_t *kind = nullptr, *missing_left = nullptr;
    std::vector<uint32_t> set_words;
    std::vector<ProjectionTerm> terms;

    TreeFields() = default;
    TreeFields(const GrownTree& tree, bool with_risk);

  private:
    Pages<std::byte> memory_;
};

struct GrownForest {
    std::vector<TreeFields> trees;
    int width = 1;
    int threads = 1;  // that grew them

    GrownForest() = default;
    GrownForest(GrownForest&&) = default;  // and no copies, which std::vector would promise

    size_t n_nodes() const;
    void extend(GrownForest& more);
};

// Parent of each node; −1 of the root.
std::vector<int32_t> parents_of(std::span<const GrownNode> nodes);

// Values of the leaves as they are; inner nodes get the mean of their children's, by rows.
std::vector<double> with_means(std::span<const GrownNode> nodes, const double* of_leaves);

// Bounds of all nodes, top down. middle(node, bounds of the node) parts the children of a split on a monotone feature.
template <class Middle>
std::vector<Bounds> inherit_bounds(std::span<const GrownNode> nodes, const std::vector<int8_t>& monotone,
                                   const Bounds& all, Middle&& middle) {
    std::vector<Bounds> bounds(nodes.size(), all);
    if (monotone.empty()) return bounds;
    for (size_t id = 0; id < nodes.size(); ++id) {
        const GrownNode& node = nodes[id];
        if (node.is_leaf()) continue;
        bounds[node.left] = bounds[node.right] = bounds[id];
        if (const int direction = monotone[node.feature]; direction != 0)
            part_bounds(direction, middle(node, bounds[id]), bounds[node.left], bounds[node.right]);
    }
    return bounds;
}

// Clips the value of every node to its bounds. The middle of the children's values parts them, in the units of the
// values themselves, so that the order holds for any loss and any way to find leaf values.
void clip_values(std::span<const GrownNode> nodes, const std::vector<int8_t>& monotone, const Bounds& all,
                 std::span<double> values);

}  // namespace arboretum
