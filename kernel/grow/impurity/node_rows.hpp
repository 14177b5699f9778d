// The rows of a node, and how their codes are read.
//
//   Columns      a row is its statistic and number; codes are looked up in the column-major copy      large nodes
//   Travelling   a row carries its codes, they move with it when nodes are partitioned:               nodes in the
//                  │ statistic, row │ f0 f1 … f27 · · · · │ next row …                                cache
//                so that deep trees read memory in sequence. Tables of up to 64 features.
//
// A code that travels takes one byte. Codes of more bytes travel as ranks, in nodes of up to 255 rows: the places of
// codes among those of the node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "data/binned_data.hpp"
#include "grow/row_numbers.hpp"

namespace arboretum {

template <class Stat>
class Columns {
  public:
    using Entry = Stat;
    static constexpr bool travels = false;

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

// Which byte of a row holds the code of a feature, and what it says.
class TravellingCodes {
  public:
    static constexpr int most_bytes = 64;

    explicit TravellingCodes(const BinnedData& data);

    // Bytes of a row: as many as its codes take if each takes one, else one per feature.
    static int64_t bytes(const BinnedData& data);
    static bool need_ranks(const BinnedData& data) { return own_bytes(data) > most_bytes; }

    // Rows of the largest node whose codes can travel: what fits the cache, or what a byte can number.
    int64_t most_rows() const { return is_ranked_ ? 255 : 8192; }

    Code n_codes(int32_t feature) const {
        return is_ranked_ ? static_cast<Code>(ranked_[feature].size()) : data_.feature(feature).n_bins + 1;
    }
    Code table_code(int32_t feature, Code code) const { return is_ranked_ ? ranked_[feature][code] : code; }
    int place(int32_t feature) const { return places_[feature]; }

  protected:
    // Writes the codes of each row: the first row to `codes`, each further one `stride` bytes on.
    void load(const RowNumbers& rows, uint8_t* codes, int64_t stride);

  private:
    static int64_t own_bytes(const BinnedData& data);
    void rank(int32_t feature, const RowNumbers& rows, uint8_t* codes, int64_t stride);

    const BinnedData& data_;
    bool is_ranked_;
    std::vector<int> starts_, places_;
    std::vector<std::vector<Code>> ranked_;  // of each feature: codes that occur, rising, then the missing code
};

template <class Stat, int stride>
class Travelling : public TravellingCodes {
  public:
    static constexpr bool travels = true;
    static constexpr int n_places = stride;

    struct Entry : Stat {
        uint8_t codes[stride];
    };

    using TravellingCodes::TravellingCodes;

    void load(const Stat* stats, int64_t n, std::vector<Entry>& entries) {
        if (static_cast<int64_t>(entries.size()) < n) entries.resize(n);
        for (int64_t i = 0; i < n; ++i) static_cast<Stat&>(entries[i]) = stats[i];
        TravellingCodes::load({entries.data(), n}, entries[0].codes, sizeof(Entry));
    }

    template <class Use>
    auto with_codes(int32_t feature, Use&& use) const {
        return use([place = place(feature)](const Entry& e) -> Code { return e.codes[place]; });
    }

    // Least and largest code of each feature over some rows, by place: all features at once, some vectors per row.
    static void ranges(const Entry* entries, int64_t n, uint8_t* least, uint8_t* most) {
        using Bytes = uint8_t __attribute__((vector_size(16)));
        constexpr int n_vectors = stride / sizeof(Bytes);
        Bytes low[n_vectors], high[n_vectors];
        std::memcpy(low, entries[0].codes, stride);
        std::memcpy(high, entries[0].codes, stride);
        for (int64_t i = 1; i < n; ++i)
            for (int k = 0; k < n_vectors; ++k) {
                Bytes codes;
                std::memcpy(&codes, entries[i].codes + k * sizeof(Bytes), sizeof(Bytes));
                low[k] = codes < low[k] ? codes : low[k];
                high[k] = codes > high[k] ? codes : high[k];
            }
        std::memcpy(least, low, stride);
        std::memcpy(most, high, stride);
    }
};

}  // namespace arboretum
