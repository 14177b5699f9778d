// Parting items by flags with vectors: where the processor can, eight words are pushed together by one instruction.
//
//   items   a b c d e f g h      flags   0 0 1 0 1 1 0 1
//   left    c e f h              right   a b d g
#pragma once

#include <cstddef>
#include <cstdint>

namespace arboretum {

struct PartedItems {
    int64_t n = 0;  // items that were moved, from the first on: whole groups of eight; none without such instructions
    int64_t n_left = 0;
};

// Moves items to `left` where their flag is 1, else to `right`, in their order. Items have 8 or 16 bytes; others are
// not moved.
PartedItems part_items(const void* items, size_t item_bytes, const uint8_t* flags, int64_t n, void* left, void* right);

}  // namespace arboretum
