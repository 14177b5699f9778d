// Codes of a table, kept twice in one buffer that the caller owns (memory or a memory map).
//
//   row-major blocks, for histograms: all codes of a row that share a block lie in one or two cache lines
//     block 0: row 0 │f0 f1 … f27 · · · ·│ row 1 │f0 f1 … f27 · · · ·│ …      stride 32 (padding ·)
//     block 1: …
//   column-major, for partitioning: one feature of all rows
//     f0: │row 0 row 1 row 2 …│   f1: │…│
//
// A block holds features of one code width (1, 2 or 4 bytes). The histograms of a block lie together with a fixed
// number of bins a feature (`bins`), so that (position, code) → position · bins + code; `block_bytes` of them should
// stay in the first caches, hence the limit on features a block. The last code of a feature, n_bins, means missing.
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "types.hpp"

namespace arboretum {

struct Block {
    int width;          // bytes a code
    int64_t stride;     // bytes a row
    int64_t offset;     // of row 0 in the buffer
    int64_t bins;       // histogram entries a feature
    int64_t first_bin;  // of the block in a node's histogram
    std::vector<int32_t> features;
};

struct FeatureCodes {
    Code n_bins;  // codes of values; n_bins itself means missing
    bool categorical;
    int width;
    int32_t block;
    int32_t position;  // in its block
    int64_t column;    // byte offset of its column-major copy
    int64_t first_bin;
    bool has_missing;  // some row has the missing code
};

class BinnedData {
  public:
    BinnedData(int64_t n_rows, const std::vector<Code>& n_bins, const std::vector<bool>& categorical)
        : n_rows_(n_rows) {
        for (size_t f = 0; f < n_bins.size(); ++f)
            features_.push_back({n_bins[f], static_cast<bool>(categorical[f]), width_of(n_bins[f]), 0, 0, 0, 0, false});
        make_blocks();
        place();
    }

    int64_t n_rows() const { return n_rows_; }
    int32_t n_features() const { return static_cast<int32_t>(features_.size()); }
    int64_t size_bytes() const { return size_bytes_; }
    int64_t n_total_bins() const { return n_total_bins_; }
    const std::vector<Block>& blocks() const { return blocks_; }
    const FeatureCodes& feature(int32_t f) const { return features_[f]; }

    void attach(uint8_t* buffer) { buffer_ = buffer; }
    uint8_t* buffer() const { return buffer_; }
    const uint8_t* row_codes(const Block& block, int64_t row) const {
        return buffer_ + block.offset + row * block.stride;
    }

    template <class C>
    const C* column(int32_t f) const {
        assert(features_[f].width == static_cast<int>(sizeof(C)));
        return reinterpret_cast<const C*>(buffer_ + features_[f].column);
    }

    Code code(int32_t f, int64_t row) const {
        switch (features_[f].width) {
            case 1: return column<uint8_t>(f)[row];
            case 2: return column<uint16_t>(f)[row];
            default: return column<uint32_t>(f)[row];
        }
    }

    void mark_missing(int32_t f) { features_[f].has_missing = true; }

    // Writes codes of one feature from row `first` on, both ways.
    template <class C>
    void put(int32_t f, int64_t first, int n, const int* codes) {
        const FeatureCodes& info = features_[f];
        const Block& block = blocks_[info.block];
        C* column = reinterpret_cast<C*>(buffer_ + info.column) + first;
        uint8_t* row = buffer_ + block.offset + first * block.stride + info.position * static_cast<int64_t>(sizeof(C));
        const int64_t stride = block.stride;  // a local: byte stores could alias the member
        for (int i = 0; i < n; ++i) column[i] = static_cast<C>(codes[i]);
        for (int i = 0; i < n; ++i, row += stride) *reinterpret_cast<C*>(row) = static_cast<C>(codes[i]);
    }

  private:
    static constexpr int64_t block_bytes = 80 * 1024;
    static constexpr int64_t max_block_features = 64;

    static int width_of(Code n_bins) { return n_bins < 256 ? 1 : n_bins < 65536 ? 2 : 4; }

    // Features of one width share blocks, in wide tables those with few bins apart; blocks are filled evenly.
    void make_blocks() {
        std::vector<int32_t> order(features_.size());
        std::iota(order.begin(), order.end(), 0);
        bool wide_table = n_features() > max_block_features;
        auto size_class = [&](int32_t f) {
            return features_[f].width > 1 ? features_[f].width : wide_table && features_[f].n_bins < 16 ? 0 : 1;
        };
        std::stable_sort(order.begin(), order.end(),
                         [&](int32_t a, int32_t b) { return size_class(a) < size_class(b); });
        for (size_t begin = 0; begin < order.size();) {
            size_t end = begin;
            while (end < order.size() && size_class(order[end]) == size_class(order[begin])) ++end;
            fill_blocks({order.begin() + begin, order.begin() + end});
            begin = end;
        }
    }

    void fill_blocks(std::vector<int32_t> group) {
        std::sort(group.begin(), group.end());
        Code most = 0;
        for (int32_t f : group) most = std::max(most, features_[f].n_bins);
        int64_t bins = static_cast<int64_t>(most) + 1;
        int64_t n = static_cast<int64_t>(group.size());
        int64_t room = std::clamp<int64_t>(block_bytes / (bins * 8), 1, max_block_features);
        int64_t n_blocks = (n + room - 1) / room;
        for (int64_t b = 0; b < n_blocks; ++b) {
            Block block{width_of(most), 0, 0, bins, 0, {}};
            block.features.assign(group.begin() + n * b / n_blocks, group.begin() + n * (b + 1) / n_blocks);
            block.stride = static_cast<int64_t>(std::bit_ceil(block.features.size() * block.width));
            blocks_.push_back(std::move(block));
        }
    }

    void place() {
        int64_t offset = 0;
        auto take = [&](int64_t bytes) {
            int64_t start = offset;
            offset = (offset + bytes + 63) / 64 * 64;
            return start;
        };
        for (size_t b = 0; b < blocks_.size(); ++b) {
            Block& block = blocks_[b];
            block.offset = take(n_rows_ * block.stride + 64);  // room to read whole words at the end
            block.first_bin = n_total_bins_;
            for (size_t p = 0; p < block.features.size(); ++p) {
                FeatureCodes& info = features_[block.features[p]];
                info.block = static_cast<int32_t>(b);
                info.position = static_cast<int32_t>(p);
                info.first_bin = n_total_bins_ + static_cast<int64_t>(p) * block.bins;
            }
            n_total_bins_ += static_cast<int64_t>(block.features.size()) * block.bins;
        }
        for (FeatureCodes& info : features_) info.column = take(n_rows_ * info.width);
        size_bytes_ = offset;
    }

    int64_t n_rows_;
    std::vector<FeatureCodes> features_;
    std::vector<Block> blocks_;
    int64_t n_total_bins_ = 0;
    int64_t size_bytes_ = 0;
    uint8_t* buffer_ = nullptr;
};

}  // namespace arboretum
