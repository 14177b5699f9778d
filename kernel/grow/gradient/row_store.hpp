// Rows that came from other processes: a table of codes that grows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "data/binned_data.hpp"

namespace arboretum {

class RowStore {
  public:
    // For codes of the same features.
    explicit RowStore(const BinnedData& like) : data_(like.with_rows(0)) {}

    // References to it stay valid; pointers to codes do not when it grows.
    BinnedData& data() { return data_; }

    int64_t n_rows() const { return n_rows_; }

    // Room for n more rows; returns the number of the first. Their codes are 0 until they are put.
    int64_t add(int64_t n) {
        const int64_t first = n_rows_;
        n_rows_ += n;
        if (n_rows_ > data_.n_rows()) grow_to(std::max(n_rows_, 2 * data_.n_rows()), first);
        return first;
    }

  private:
    void grow_to(int64_t n_rows, int64_t kept) {
        BinnedData grown = data_.with_rows(n_rows);
        std::vector<uint8_t> codes(grown.size_bytes(), 0);
        grown.attach(codes.data());
        for (const Block& block : data_.blocks()) {
            const int64_t place = grown.blocks()[&block - data_.blocks().data()].offset;
            std::copy_n(codes_.data() + block.offset, kept * block.stride, codes.data() + place);
        }
        for (int32_t f = 0; f < data_.n_features(); ++f) {
            const FeatureCodes& info = data_.feature(f);
            std::copy_n(codes_.data() + info.column, kept * info.width, codes.data() + grown.feature(f).column);
        }
        codes_.swap(codes);
        data_ = std::move(grown);
    }

    BinnedData data_;
    std::vector<uint8_t> codes_;
    int64_t n_rows_ = 0;
};

}  // namespace arboretum
