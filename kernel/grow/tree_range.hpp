// Which trees of a forest to grow, and the keys of their draws: trees that are grown later, or by another thread, draw
// the same.
#pragma once

#include <cstdint>

#include "base/rng.hpp"

namespace arboretum {

// Trees `first` … `first + n − 1` of the forest with this seed.
struct TreeRange {
    int64_t first, n;
    uint64_t seed;
};

// Key of the cuts of a tree.
inline uint64_t tree_key(uint64_t seed, int64_t tree) { return draw(seed, 0x74726565, tree); }  // "tree"

// Key of its rows.
inline uint64_t bootstrap_key(uint64_t seed, int64_t tree) { return draw(seed, 0x626f6f74, tree); }  // "boot"

}  // namespace arboretum
