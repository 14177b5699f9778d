// Nodes of a tree of impurity, and what its leaves keep of their rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forest/route.hpp"
#include "grow/impurity/cuts.hpp"
#include "grow/impurity/target.hpp"
#include "grow/row_numbers.hpp"

namespace arboretum {

struct ImpurityNode {
    double threshold = 0;
    double weight = 0;       // Σ weight of its rows, copies counted
    double gain = 0;         // fall of weight · impurity
    double risk = 0;         // weight · impurity
    int64_t n_rows = 0;      // rows; if weights are whole, as often as they were drawn or weigh
    int64_t first_item = 0;  // words of a category condition, or terms of an oblique one, in the branch's pool
    int32_t left = -1, right = -1;
    int32_t feature = -1;
    ConditionKind kind = ConditionKind::leaf;
    bool missing_left = false;
    int32_t n_items = 0;  // words of a category condition, terms of an oblique one
    int32_t n_terms() const { return kind == ConditionKind::oblique ? n_items : 0; }
    bool is_leaf() const { return kind == ConditionKind::leaf; }
};

// A tree, or a branch of one; children come after their parent.
struct ImpurityTree {
    std::vector<ImpurityNode> nodes;
    std::vector<double> values;  // nodes × width
    std::vector<uint32_t> set_words;
    std::vector<ProjectionTerm> terms;  // of oblique conditions, in the order of the nodes

    // terms: of an oblique condition.
    void put_cut(const Cut& cut, std::span<const ProjectionTerm> terms, ImpurityNode& node);

  private:
    void put_set(const std::vector<uint32_t>& set, ImpurityNode& node);
};

// The tree of a top and the branches that grow from some of its leaves: nodes in preorder, a left child follows its
// parent. stumps[i]: where branch i grows.
ImpurityTree join_branches(const ImpurityTree& top, std::span<const int32_t> stumps,
                           std::span<const ImpurityTree> branches, int width);

// Inner nodes from their children; values keep to the order that monotone features ask for.
void finish_tree(ImpurityTree& tree, const Target& target, const SplitRules& rules);

// Values and risk of leaves, in real units; inner nodes are the sums of their children.
class LeafSummary {
  public:
    explicit LeafSummary(const Target& target) : target_(target), width_(target.width()) {}

    int width() const { return width_; }

    // values: weight of each class on entry, its share on return.
    void finish_classes(ImpurityNode& node, double* values) const;

    // values: means of the outputs on entry, from exact sums, so that the order of the rows does not matter; on return
    // a number per output. A leaf of equal numbers has that number. copies: of all rows of the table, null for once
    // each.
    void finish_numbers(const RowNumbers& rows, const uint32_t* copies, ImpurityNode& node, double* values) const;

  private:
    double class_risk(const double* sums, double weight) const;
    double output_risk(const double* counts, int n, double weight) const;
    double number_risk(double y, double mean) const;

    const Target& target_;
    int width_;
};

}  // namespace arboretum
