#include "grow/gradient/feature_selection.hpp"

#include <utility>

namespace arboretum {

FeatureSelection::FeatureSelection(const BinnedData& data, std::vector<uint8_t> mask) : wanted(std::move(mask)) {
    std::vector<uint8_t> stored(data.n_features() + data.n_bundles(), 0);
    for (int32_t f = 0; f < data.n_features(); ++f)
        if (wanted[f]) stored[data.stored_in(f)] = 1;
    for (size_t b = 0; b < data.blocks().size(); ++b) {
        const Block& block = data.blocks()[b];
        std::vector<int32_t> in_block;
        for (size_t p = 0; p < block.features.size(); ++p)
            if (stored[block.features[p]]) in_block.push_back(static_cast<int32_t>(p));
        if (!in_block.empty()) blocks.push_back(static_cast<int32_t>(b));
        if (in_block.size() == block.features.size()) in_block.clear();
        positions.push_back(std::move(in_block));
    }
}

}  // namespace arboretum
