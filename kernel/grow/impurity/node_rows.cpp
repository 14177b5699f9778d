#include "grow/impurity/node_rows.hpp"

namespace arboretum {

TravellingCodes::TravellingCodes(const BinnedData& data)
    : data_(data), is_ranked_(need_ranks(data)), ranked_(is_ranked_ ? data.n_features() : 0) {
    int start = 0;
    for (const Block& block : data.blocks()) {
        starts_.push_back(start);
        start += static_cast<int>(block.stride);
    }
    for (int32_t f = 0; f < data.n_features(); ++f)
        places_.push_back(is_ranked_ ? f : starts_[data.feature(f).block] + data.feature(f).position);
}

int64_t TravellingCodes::bytes(const BinnedData& data) {
    return need_ranks(data) ? data.n_features() : own_bytes(data);
}

// More than most_bytes if a code takes several.
int64_t TravellingCodes::own_bytes(const BinnedData& data) {
    int64_t bytes = 0;
    for (const Block& block : data.blocks()) bytes += block.width == 1 ? block.stride : most_bytes + 1;
    return bytes;
}

void TravellingCodes::load(const RowNumbers& rows, uint8_t* codes, int64_t stride) {
    if (is_ranked_) {
        for (int32_t f = 0; f < data_.n_features(); ++f) rank(f, rows, codes, stride);
        return;
    }
    for (int64_t i = 0; i < rows.size(); ++i, codes += stride)
        for (size_t b = 0; b < starts_.size(); ++b) {
            const Block& block = data_.blocks()[b];
            std::copy_n(data_.row_codes(block, rows[i]), block.stride, codes + starts_[b]);
        }
}

void TravellingCodes::rank(int32_t feature, const RowNumbers& rows, uint8_t* codes, int64_t stride) {
    uint64_t keys[255];
    const int64_t n = rows.size();
    for (int64_t i = 0; i < n; ++i)
        keys[i] = static_cast<uint64_t>(data_.code(feature, rows[i])) << 8 | static_cast<uint64_t>(i);
    std::sort(keys, keys + n);
    std::vector<Code>& found = ranked_[feature];
    found.clear();
    for (int64_t i = 0; i < n; ++i) {
        const Code code = static_cast<Code>(keys[i] >> 8);
        if (found.empty() || found.back() != code) found.push_back(code);
        codes[static_cast<int64_t>(keys[i] & 255) * stride + feature] = static_cast<uint8_t>(found.size() - 1);
    }
    const Code missing = data_.feature(feature).n_bins;
    if (found.back() != missing) found.push_back(missing);
}

}  // namespace arboretum
