// Memory of a grower that lives as long as a fit, so that a tree allocates nothing large.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/buffer.hpp"

namespace arboretum {

struct Workspace {
    std::array<Buffer, 2> entries;  // rows in leaf order: a node's lie in one of the two, its children's in the other
    Buffer flags;                   // one byte per row
    std::vector<std::unique_ptr<std::byte[]>> histograms;
    size_t histogram_bytes = 0;  // of each
};

}  // namespace arboretum
