// The rows of a node, and how their codes are read.
//
//   Columns      a row is its statistic and number; codes are looked up in the column-major copy      large nodes
//   Travelling   a row carries its codes, they move with it when nodes are partitioned:               nodes in the
//                  │ statistic, row │ f0 f1 … f27 · · · · │ next row …                                cache
//                so that deep trees read memory in sequence. Tables of up to 64 features of one byte.
//   Ranked       the same for codes of more bytes, in nodes of up to 255 rows: a row carries the places of its codes
//                among those of the node, which one byte holds
#pragma once

#include "binned_data.hpp"

namespace arboretum {

template <class Stat>
struct Columns {
    using Entry = Stat;

    explicit Columns(const BinnedData& data) : data_(data) {}

    // Codes of a feature, the last of which means missing; and what a code is in the table.
    Code n_codes(int32_t feature) const { return data_.feature(feature).n_bins + 1; }
    static Code table_code(int32_t, Code code) { return code; }

    // Calls use(code_of), where code_of(entry) is the entry's code of the feature.
    template <class Use>
    auto with_codes(int32_t feature, Use&& use) const {
        auto read = [&](const auto* column) { return use([column](const Entry& e) -> Code { return column[e.row]; }); };
        switch (data_.feature(feature).width) {
            case 1: return read(data_.column<uint8_t>(feature));
            case 2: return read(data_.column<uint16_t>(feature));
            default: return read(data_.column<uint32_t>(feature));
        }
    }

  private:
    const BinnedData& data_;
};

template <class Stat, int stride>
struct Travelling {
    static constexpr int n_places = stride;

    struct Entry : Stat {
        uint8_t codes[stride];
    };

    explicit Travelling(const BinnedData& data) : data_(data) {
        int start = 0;
        for (const Block& block : data.blocks()) {
            starts_.push_back(start);
            start += static_cast<int>(block.stride);
        }
        for (int32_t f = 0; f < data.n_features(); ++f)
            places_.push_back(starts_[data.feature(f).block] + data.feature(f).position);
    }

    // Bytes a row of this table needs; more than 64 if it cannot travel.
    static int bytes(const BinnedData& data) {
        int64_t bytes = 0;
        for (const Block& block : data.blocks()) bytes += block.width == 1 ? block.stride : 1000;
        return static_cast<int>(std::min<int64_t>(bytes, 1000));
    }

    static constexpr int64_t most_rows = 8192;  // what fits the cache

    Code n_codes(int32_t feature) const { return data_.feature(feature).n_bins + 1; }
    static Code table_code(int32_t, Code code) { return code; }

    void load(const Stat* stats, int64_t n, std::vector<Entry>& entries) const {
        entries.clear();
        for (int64_t i = 0; i < n; ++i) {
            Entry entry{stats[i], {}};
            for (size_t b = 0; b < starts_.size(); ++b) {
                const Block& block = data_.blocks()[b];
                std::copy_n(data_.row_codes(block, stats[i].row), block.stride, entry.codes + starts_[b]);
            }
            entries.push_back(entry);
        }
    }

    template <class Use>
    auto with_codes(int32_t feature, Use&& use) const {
        const int place = places_[feature];
        return use([place](const Entry& e) -> Code { return e.codes[place]; });
    }

    // Least and largest code of each feature over some rows, by place: all features at once, a vector a row.
    static void ranges(const Entry* entries, int64_t n, uint8_t* least, uint8_t* most) {
        uint8_t low[stride], high[stride];  // locals: bytes behind pointers could alias the rows
        std::copy_n(entries[0].codes, stride, low);
        std::copy_n(entries[0].codes, stride, high);
        for (int64_t i = 1; i < n; ++i)
            for (int k = 0; k < stride; ++k) {
                const uint8_t code = entries[i].codes[k];
                low[k] = code < low[k] ? code : low[k];
                high[k] = code > high[k] ? code : high[k];
            }
        std::copy_n(low, stride, least);
        std::copy_n(high, stride, most);
    }

    int place(int32_t feature) const { return places_[feature]; }

  private:
    const BinnedData& data_;
    std::vector<int> starts_, places_;
};

template <class Stat>
struct Ranked {
    static constexpr int n_places = 64;
    static constexpr int64_t most_rows = 255;

    using Entry = typename Travelling<Stat, n_places>::Entry;

    explicit Ranked(const BinnedData& data) : data_(data), codes_(data.n_features()) {}

    Code n_codes(int32_t feature) const { return static_cast<Code>(codes_[feature].size()); }
    Code table_code(int32_t feature, Code code) const { return codes_[feature][code]; }

    void load(const Stat* stats, int64_t n, std::vector<Entry>& entries) {
        entries.resize(n);
        for (int64_t i = 0; i < n; ++i) static_cast<Stat&>(entries[i]) = stats[i];
        for (int32_t f = 0; f < data_.n_features(); ++f) rank(f, entries);
    }

    template <class Use>
    auto with_codes(int32_t feature, Use&& use) const {
        return use([feature](const Entry& e) -> Code { return e.codes[feature]; });
    }
    static void ranges(const Entry* entries, int64_t n, uint8_t* least, uint8_t* most) {
        Travelling<Stat, n_places>::ranges(entries, n, least, most);
    }
    static int place(int32_t feature) { return feature; }

  private:
    void rank(int32_t feature, std::vector<Entry>& entries) {
        const int64_t n = static_cast<int64_t>(entries.size());
        uint64_t keys[most_rows];
        for (int64_t i = 0; i < n; ++i)
            keys[i] = static_cast<uint64_t>(data_.code(feature, entries[i].row)) << 8 | static_cast<uint64_t>(i);
        std::sort(keys, keys + n);
        std::vector<Code>& codes = codes_[feature];
        codes.clear();
        for (int64_t i = 0; i < n; ++i) {
            const Code code = static_cast<Code>(keys[i] >> 8);
            if (codes.empty() || codes.back() != code) codes.push_back(code);
            entries[keys[i] & 255].codes[feature] = static_cast<uint8_t>(codes.size() - 1);
        }
        const Code missing = data_.feature(feature).n_bins;
        if (codes.back() != missing) codes.push_back(missing);
    }

    const BinnedData& data_;
    std::vector<std::vector<Code>> codes_;  // of each feature: codes that occur, rising, then the missing code
};

}  // namespace arboretum
