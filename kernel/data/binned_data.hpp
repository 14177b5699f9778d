// Codes of a table, kept twice in one buffer that the caller owns (memory or a memory map).
//
//   row-major blocks, for histograms: all codes of a row that share a block lie in one or two cache lines
//     block 0: row 0 │f0 f1 … f27 · · · ·│ row 1 │f0 f1 … f27 · · · ·│ …      stride 32 (padding ·)
//     block 1: …
//   column-major, for partitioning: one feature of all rows
//     f0: │row 0 row 1 row 2 …│   f1: │…│
//
// A block holds features of one code width (1, 2 or 4 bytes). The histograms of a block lie together with a fixed
// number of bins per feature (`bins`), so that (position, code) → position · bins + code; `block_bytes` of them should
// stay in the first caches, hence the limit on features per block. The last code of a feature, n_bins, means missing.
//
// Features may share a stored column, a bundle, if no row has two of them away from their default code (bundling.hpp):
//
//   stored code   0            every feature of the bundle has its default code
//                 1 … k0       the first feature has another of its codes: k0 of them, rising, the default left out
//                 k0+1 …       the second feature has one of its k1 others
//
// Stored columns are numbered: first the features, then the bundles. Blocks hold stored columns. In the histogram of a
// node the bins of stored columns come first, then those of bundled features, which are read off their bundle's.
//
// Rows of a sparse table may also be listed: the bins of all codes that are not the default of their feature, which is
// the most frequent code if no bundle needs another. Where a node has few of them, they are read instead of the blocks.
//
//   row 0 │ bin of (f3, code 2)  bin of (f90, code 1) │ row 1 │ … │
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/mapped_file.hpp"
#include "base/types.hpp"

namespace arboretum {

struct Block {
    int width;                      // bytes per code
    int64_t stride;                 // bytes per row
    int64_t offset;                 // place of row 0 in the buffer
    int64_t bins;                   // histogram entries per feature
    int64_t first_bin;              // first entry of the block in a node's histogram
    std::vector<int32_t> features;  // or bundles: stored columns
};

// Where a feature is bundled, if it is.
struct BundlePlace {
    int32_t bundle = -1;
    Code default_code = 0;
    bool has_missing = false;  // the missing code needs a stored code

    Code n_others(Code n_bins) const { return n_bins - (has_missing ? 0 : 1); }
};

// A stored column, or a feature that a bundle stores: the latter has no width, block, position and column of its own.
struct FeatureCodes {
    Code n_bins;  // codes of values; n_bins itself means missing
    bool categorical;
    int width;
    int32_t block;
    int32_t position;  // in its block
    int64_t column;    // byte offset of its column-major copy
    int64_t first_bin;
    bool has_missing;  // some row has the missing code
    int32_t bundle = -1;
    Code default_code = 0;
    Code first_stored = 0;  // of its codes in the bundle, but for the default
    Code n_others = 0;      // codes but for the default

    Code to_stored(Code code) const { return code == default_code ? 0 : first_stored + code - (code > default_code); }
    Code from_stored(Code stored) const {
        const Code place = stored - first_stored;  // wraps for codes of earlier features
        return place < n_others ? place + (place >= default_code) : default_code;
    }
};

// Cuts between the codes of a number; missing values apart.
inline int64_t n_cuts(const FeatureCodes& info) { return info.n_bins > 0 ? static_cast<int64_t>(info.n_bins) - 1 : 0; }

class BinnedData {
  public:
    // bundles: one place per feature, or none for a table without bundles.
    BinnedData(int64_t n_rows, const std::vector<Code>& n_bins, const std::vector<bool>& categorical,
               const std::vector<BundlePlace>& bundles = {})
        : n_rows_(n_rows), n_features_(static_cast<int32_t>(n_bins.size())) {
        for (size_t f = 0; f < n_bins.size(); ++f)
            features_.push_back({n_bins[f], static_cast<bool>(categorical[f]), width_of(n_bins[f]), 0, 0, 0, 0, false});
        add_bundles(bundles);
        make_blocks();
        place();
    }

    // The same features with room for other rows. Without bundles.
    BinnedData with_rows(int64_t n_rows) const {
        std::vector<Code> n_bins;
        std::vector<bool> categorical;
        for (const FeatureCodes& info : features_) {
            n_bins.push_back(info.n_bins);
            categorical.push_back(info.categorical);
        }
        return {n_rows, n_bins, categorical};
    }

    int64_t n_rows() const { return n_rows_; }
    int32_t n_features() const { return n_features_; }
    int32_t n_bundles() const { return static_cast<int32_t>(members_.size()); }
    int64_t size_bytes() const { return size_bytes_; }
    int64_t bytes_per_row() const {
        int64_t bytes = 0;
        for (const FeatureCodes& info : features_) bytes += info.bundle < 0 ? info.width : 0;
        return bytes;
    }
    int64_t n_total_bins() const { return n_total_bins_; }
    int64_t n_stored_bins() const { return n_stored_bins_; }
    const std::vector<Block>& blocks() const { return blocks_; }
    const FeatureCodes& feature(int32_t f) const { return features_[f]; }
    const std::vector<int32_t>& members(int32_t bundle) const { return members_[bundle]; }

    // The stored column that holds a feature's codes, and the bundle that a stored column is (< 0: a feature).
    int32_t stored_in(int32_t f) const { return features_[f].bundle < 0 ? f : n_features_ + features_[f].bundle; }
    int32_t bundle_of(int32_t stored) const { return stored - n_features_; }

    // mapped: the buffer is a file; as little of it as possible stays in memory.
    void attach(uint8_t* buffer, bool mapped = false) {
        buffer_ = buffer;
        mapped_ = mapped;
    }
    bool is_mapped() const { return mapped_; }
    void forget_rows(const Block& block, int64_t first, int64_t last) const {
        if (mapped_) forget_pages(buffer_, block.offset + first * block.stride, block.offset + last * block.stride);
    }
    void forget_column(int32_t stored, int64_t first, int64_t last) const {
        const FeatureCodes& info = features_[stored];
        if (mapped_) forget_pages(buffer_, info.column + first * info.width, info.column + last * info.width);
    }
    // Rows [first, last) of all stored columns, both ways.
    void forget(int64_t first, int64_t last) const {
        if (!mapped_) return;
        for (const Block& block : blocks_) {
            forget_rows(block, first, last);
            for (int32_t stored : block.features) forget_column(stored, first, last);
        }
    }
    uint8_t* buffer() const { return buffer_; }
    const uint8_t* row_codes(const Block& block, int64_t row) const {
        return buffer_ + block.offset + row * block.stride;
    }

    template <class C>
    const C* column(int32_t stored) const {
        assert(features_[stored].bundle < 0 && features_[stored].width == static_cast<int>(sizeof(C)));
        return reinterpret_cast<const C*>(buffer_ + features_[stored].column);
    }

    // Calls use(codes), the column-major copy of a stored column in its own width.
    template <class Use>
    auto with_column(int32_t stored, Use&& use) const {
        switch (features_[stored].width) {
            case 1: return use(column<uint8_t>(stored));
            case 2: return use(column<uint16_t>(stored));
            default: return use(column<uint32_t>(stored));
        }
    }

    Code code(int32_t f, int64_t row) const {
        const Code stored = with_column(stored_in(f), [&](const auto* codes) -> Code { return codes[row]; });
        return features_[f].bundle < 0 ? stored : features_[f].from_stored(stored);
    }

    void mark_missing(int32_t f) { features_[f].has_missing = true; }

    // Lists the rows, once all codes are written, if they have few codes that are not the default: in bundles of sparse
    // tables the code of 0, never that of missing values.
    void list_rows() {
        for (int32_t f = 0; f < n_features_; ++f)
            if (features_[f].bundle < 0) features_[f].default_code = most_frequent(f);
        list_start_.assign(n_rows_ + 1, 0);
        for_each_listed([&](int64_t row, int64_t) { ++list_start_[row + 1]; });
        std::partial_sum(list_start_.begin(), list_start_.end(), list_start_.begin());
        if (list_start_.back() > n_rows_ * n_features_ / 4) return list_start_.clear();
        std::vector<int64_t> next(list_start_.begin(), list_start_.end() - 1);
        listed_.resize(list_start_.back());
        for_each_listed([&](int64_t row, int64_t bin) { listed_[next[row]++] = static_cast<uint32_t>(bin); });
        feature_of_bin_.assign(n_total_bins_, 0);
        for (int32_t f = 0; f < n_features_; ++f) {
            std::fill_n(feature_of_bin_.begin() + features_[f].first_bin, features_[f].n_bins + size_t{1}, f);
            default_bin_.push_back(features_[f].first_bin + features_[f].default_code);
        }
    }
    bool is_listed() const { return !list_start_.empty(); }
    std::span<const uint32_t> listed(int64_t row) const {
        return {listed_.data() + list_start_[row], listed_.data() + list_start_[row + 1]};
    }
    // The feature that a bin belongs to, and the bin of a feature's default code.
    int32_t feature_of_bin(uint32_t bin) const { return feature_of_bin_[bin]; }
    int64_t default_bin(int32_t f) const { return default_bin_[f]; }
    // Codes that a node reads of a row.
    double codes_per_row() const {
        return is_listed() ? static_cast<double>(listed_.size()) / static_cast<double>(std::max<int64_t>(n_rows_, 1))
                           : n_features_;
    }

    // Writes codes of one feature from row `first` on, both ways. A bundle must be zero where nothing is written yet.
    void put(int32_t f, int64_t first, int n, const int* codes) {
        if (features_[f].bundle >= 0) {
            for (int i = 0; i < n; ++i) put_bundled(f, first + i, static_cast<Code>(codes[i]));
            return;
        }
        with_column(f, [&](const auto* column) { write(column, f, first, n, codes); });
    }

    void put_bundled(int32_t f, int64_t row, Code code) {
        if (code == features_[f].default_code) return;
        const int stored = static_cast<int>(features_[f].to_stored(code));
        const int32_t column = stored_in(f);
        with_column(column, [&](const auto* codes) { write(codes, column, row, 1, &stored); });
    }

  private:
    // Of the codes of values, not that of missing ones.
    Code most_frequent(int32_t f) const {
        std::vector<int64_t> rows(static_cast<size_t>(features_[f].n_bins) + 1, 0);
        with_column(f, [&](const auto* codes) {
            for (int64_t row = 0; row < n_rows_; ++row) ++rows[codes[row]];
        });
        return static_cast<Code>(std::max_element(rows.begin(), rows.end() - (rows.size() > 1)) - rows.begin());
    }

    // visit(row, bin) for every code that is not the default of its feature.
    template <class Visit>
    void for_each_listed(Visit&& visit) const {
        for (int32_t stored = 0; stored < static_cast<int32_t>(features_.size()); ++stored) {
            const FeatureCodes& info = features_[stored];
            if (info.bundle >= 0) continue;
            const bool is_bundle = stored >= n_features_;
            std::vector<int64_t> bin_of(static_cast<size_t>(info.n_bins) + 1);
            std::iota(bin_of.begin(), bin_of.end(), info.first_bin);
            if (is_bundle)
                for (int32_t f : members_[bundle_of(stored)])
                    for (Code place = 0; place < features_[f].n_others; ++place)
                        bin_of[features_[f].first_stored + place] =
                            features_[f].first_bin + place + (place >= features_[f].default_code);
            const Code none = is_bundle ? 0 : info.default_code;
            with_column(stored, [&](const auto* codes) {
                for (int64_t row = 0; row < n_rows_; ++row)
                    if (codes[row] != none) visit(row, bin_of[codes[row]]);
            });
        }
    }

    static constexpr int64_t block_bytes = 80 * 1024;
    static constexpr int64_t max_block_features = 64;

    static int width_of(Code n_bins) { return n_bins < 256 ? 1 : n_bins < 65536 ? 2 : 4; }

    template <class C>
    void write(const C* stored_codes, int32_t stored, int64_t first, int n, const int* codes) {
        const FeatureCodes& info = features_[stored];
        const Block& block = blocks_[info.block];
        C* column = const_cast<C*>(stored_codes) + first;
        uint8_t* row = buffer_ + block.offset + first * block.stride + info.position * static_cast<int64_t>(sizeof(C));
        const int64_t stride = block.stride;  // a local: byte stores could alias the member
        for (int i = 0; i < n; ++i) column[i] = static_cast<C>(codes[i]);
        for (int i = 0; i < n; ++i, row += stride) *reinterpret_cast<C*>(row) = static_cast<C>(codes[i]);
    }

    void add_bundles(const std::vector<BundlePlace>& places) {
        for (size_t f = 0; f < places.size(); ++f) {
            if (places[f].bundle < 0) continue;
            FeatureCodes& info = features_[f];
            info.bundle = places[f].bundle;
            info.default_code = places[f].default_code;
            info.n_others = places[f].n_others(info.n_bins);
            members_.resize(std::max<size_t>(members_.size(), info.bundle + size_t{1}));
            members_[info.bundle].push_back(static_cast<int32_t>(f));
        }
        for (const std::vector<int32_t>& bundle : members_) {
            Code last = 0;
            for (int32_t f : bundle) {
                features_[f].first_stored = last + 1;
                last += features_[f].n_others;
            }
            features_.push_back({last, false, width_of(last), 0, 0, 0, 0, false});
        }
    }

    // Features of one width share blocks, in wide tables those with few bins apart; blocks are filled evenly.
    void make_blocks() {
        std::vector<int32_t> order;
        for (size_t stored = 0; stored < features_.size(); ++stored)
            if (features_[stored].bundle < 0) order.push_back(static_cast<int32_t>(stored));
        bool wide_table = order.size() > max_block_features;
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
        n_stored_bins_ = n_total_bins_;
        for (FeatureCodes& info : features_) {
            if (info.bundle < 0) {
                info.column = take(n_rows_ * info.width);
            } else {
                info.first_bin = n_total_bins_;
                n_total_bins_ += static_cast<int64_t>(info.n_bins) + 1;
            }
        }
        size_bytes_ = offset;
    }

    int64_t n_rows_;
    int32_t n_features_;
    std::vector<FeatureCodes> features_;         // then the bundles
    std::vector<std::vector<int32_t>> members_;  // features of each bundle, rising
    std::vector<Block> blocks_;
    int64_t n_total_bins_ = 0;
    int64_t n_stored_bins_ = 0;
    int64_t size_bytes_ = 0;
    uint8_t* buffer_ = nullptr;
    bool mapped_ = false;
    std::vector<int64_t> list_start_;  // of each row in the next
    std::vector<uint32_t> listed_;     // bins
    std::vector<int32_t> feature_of_bin_;
    std::vector<int64_t> default_bin_;  // of each feature
};

}  // namespace arboretum
