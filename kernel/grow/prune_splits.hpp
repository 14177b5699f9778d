// Pruning of a grown tree by gain (the γ of Chen & Guestrin 2016): a split that gains too little stays while some split
// below it gains enough.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/grown_tree.hpp"

namespace arboretum {

// Makes a leaf of every node below which no split gains more than `least_gain`. Returns where each old node went: its
// new number, or that of the leaf which took its place.
std::vector<uint32_t> prune_splits(GrownTree& tree, double least_gain);

}  // namespace arboretum
