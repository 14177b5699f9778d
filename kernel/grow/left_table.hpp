// Which codes of a feature go left: a condition read once for all codes, for loops over rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "data/binned_data.hpp"

namespace arboretum {

// left[code] for every code of the feature, the missing code included.
inline void fill_left_table(const Condition& condition, Code n_bins, std::vector<uint8_t>& left) {
    left.assign(static_cast<size_t>(n_bins) + 1, 0);
    if (condition.kind == ConditionKind::numeric) {
        std::fill_n(left.begin(), std::min<size_t>(size_t{condition.threshold} + 1, n_bins), uint8_t{1});
        left[n_bins] = condition.missing_left;
        return;
    }
    for (Code code = 0; code <= n_bins; ++code) left[code] = condition.goes_left(code, n_bins);
}

// The same for every code of the bundle that stores the feature.
inline std::vector<uint8_t> bundle_left_table(const BinnedData& data, int32_t feature,
                                              const std::vector<uint8_t>& left) {
    const FeatureCodes& info = data.feature(feature);
    std::vector<uint8_t> stored(static_cast<size_t>(data.feature(data.stored_in(feature)).n_bins) + 1);
    for (Code code = 0; code < stored.size(); ++code) stored[code] = left[info.from_stored(code)];
    return stored;
}

}  // namespace arboretum
