// Do the nodes of a forest of unknown origin form trees?
#pragma once

#include <cstdint>
#include <utility>

#include "forest/forest.hpp"

namespace arboretum {

// Rules that children keep, in the order in which they are reported.
enum class LinkRule : int {
    left_at_leaf,   // −1
    left_after,     // it comes after its parent
    left_inside,    // it is a node of its tree
    right_at_leaf,  // the same
    right_after,
    right_inside,
    two_children,  // left and right are not the same
    one_parent,
    some_parent,  // but the root
    all_kept,
};

// The first rule that is broken, and the first node that breaks it. Starts of trees are known to rise.
std::pair<LinkRule, int64_t> first_broken_link(const ForestView& forest, int threads);

}  // namespace arboretum
