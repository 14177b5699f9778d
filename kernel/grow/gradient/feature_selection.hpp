// The features that a tree looks at, block by block: positions[b] is empty when all of block b are wanted.
#pragma once

#include <cstdint>
#include <vector>

#include "data/binned_data.hpp"

namespace arboretum {

struct FeatureSelection {
    std::vector<uint8_t> wanted;                  // per feature
    std::vector<std::vector<int32_t>> positions;  // per block
    std::vector<int32_t> blocks;                  // blocks with a wanted feature

    FeatureSelection() = default;
    FeatureSelection(const BinnedData& data, std::vector<uint8_t> mask);
};

}  // namespace arboretum
