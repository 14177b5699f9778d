// Rows of a node, grouped by their code of one feature, and orders of such groups.
//
//   start     0       3     5 5         10    group g owns members[start[g] : start[g + 1]]
//   members   7 2 9 | 0 4 | | 1 3 5 6 8       places of rows in their node
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace arboretum {

struct RowGroups {
    std::vector<int64_t> start;
    std::vector<uint32_t> members;

    std::span<const uint32_t> operator[](int64_t group) const {
        return {members.data() + start[group], members.data() + start[group + 1]};
    }
};

// Groups in the order of a key; a cut parts those up to one of them from the rest.
using GroupOrder = std::vector<std::pair<double, int64_t>>;

// By rising keys; equal keys by ties[group], or by group if `ties` is empty.
void sort_groups(GroupOrder& order, std::span<const uint64_t> ties);

// Sorts keys by their upper halves, the codes of rows. other: scratch.
void sort_keys(std::vector<uint64_t>& keys, std::vector<uint64_t>& other);

}  // namespace arboretum
