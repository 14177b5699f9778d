// What the nodes of a tree of impurity keep of their rows, and how branches become one tree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grow/grown_tree.hpp"
#include "grow/impurity/cuts.hpp"
#include "grow/impurity/target.hpp"
#include "grow/row_numbers.hpp"

namespace arboretum {

// Gives a cut to a node. terms: of an oblique condition.
void put_cut(const Cut& cut, std::span<const ProjectionTerm> terms, GrownTree& tree, GrownNode& node);

// Nodes of a branch among those of others.
struct BranchNodes {
    const GrownTree* store = nullptr;
    size_t first = 0, n = 0;
};

// The tree of a top and the branches that grow from some of its leaves: nodes in preorder, a left child follows its
// parent. stumps[i]: where branch i grows.
void join_branches(const GrownTree& top, std::span<const int32_t> stumps, std::span<const BranchNodes> branches,
                   int width, GrownTree& tree);

// Inner nodes from their children; values keep to the order that monotone features ask for.
void finish_tree(GrownTree& tree, const Target& target, const SplitRules& rules);

// Values and risk of leaves, in real units; inner nodes are the sums of their children.
class LeafSummary {
  public:
    explicit LeafSummary(const Target& target) : target_(target), width_(target.width()) {}

    int width() const { return width_; }

    // values: weight of each class on entry, its share on return.
    void finish_classes(GrownNode& node, double* values) const;

    // values: means of the outputs on entry, from exact sums, so that the order of the rows does not matter; on return
    // a number per output. A leaf of equal numbers has that number. copies: of all rows of the table, null for once
    // each.
    void finish_numbers(const RowNumbers& rows, const uint32_t* copies, GrownNode& node, double* values) const;

  private:
    double class_risk(const double* sums, double weight) const;
    double output_risk(const double* counts, int n, double weight) const;
    double number_risk(double y, double mean) const;

    const Target& target_;
    int width_;
};

}  // namespace arboretum
