// The rows of a node, and how their codes are read.
//
//   Columns      a row is its statistic and number; codes are looked up in the column-major copy      large nodes
//   Travelling   a row carries its codes, they move with it when nodes are partitioned:               nodes in the
//                  │ statistic, row │ f0 f1 … f27 · · · · │ next row …                                cache
//                so that deep trees read memory in sequence. Tables of up to 64 features.
//   Ordered      every feature lists the rows of each node by its codes:                               exact trees that
//                  f0 │ (code, row) (code, row) … │ next node …                                        look at all
//                sorted once, and parted with the node, so that no node sorts again.                   features
//
// A code that travels takes one byte. Codes of more bytes travel as ranks, in nodes of up to 255 rows: the places of
// codes among those of the node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "data/binned_data.hpp"
#include "grow/impurity/row_groups.hpp"
#include "grow/row_numbers.hpp"

namespace arboretum {

template <class Stat>
class Columns {
  public:
    using Entry = Stat;
    static constexpr bool travels = false, is_ordered = false;

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
    static constexpr bool travels = true, is_ordered = false;
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

template <class Stat>
class Ordered : public Columns<Stat> {
  public:
    static constexpr bool is_ordered = true;

    struct Entry : Stat {
        uint32_t number;  // among the rows of the branch, as they were loaded
    };

    explicit Ordered(const BinnedData& data) : Columns<Stat>(data), n_rows_(data.n_rows()), lists_(data.n_features()) {}

    // Rows of the largest branch: its lists stay in the cache, and a tree has branches for several threads. Larger nodes
    // have a quarter of the values and more: they are summed by code, not sorted.
    int64_t most_rows() const {
        const int64_t cached = most_keys / std::max<int64_t>(1, static_cast<int64_t>(lists_.size()));
        return std::clamp<int64_t>(std::min(cached, n_rows_ / 4), 256, 8192);
    }

    void load(const Stat* stats, int64_t n, std::vector<Entry>& entries) {
        if (static_cast<int64_t>(entries.size()) < n) entries.resize(n), goes_left_.resize(n);
        for (int64_t i = 0; i < n; ++i) static_cast<Stat&>(entries[i]) = stats[i], entries[i].number = i;
        stats_ = stats;
        entries_ = entries.data();
        for (size_t f = 0; f < lists_.size(); ++f)
            this->with_codes(static_cast<int32_t>(f), [&](auto code_of) {
                lists_[f].resize(n);
                for (int64_t i = 0; i < n; ++i) lists_[f][i] = static_cast<uint64_t>(code_of(stats[i])) << 32 | i;
                sort_keys(lists_[f], rights_);
            });
        rights_.resize(n);
    }

    // Codes and numbers of the rows of a node, whose first entry is given, by rising codes; statistics by number.
    const uint64_t* keys(int32_t feature, const Entry* first) const {
        return lists_[feature].data() + (first - entries_);
    }
    const Stat* stats() const { return stats_; }

    // Before lists are parted: where each row goes.
    [[gnu::always_inline]] void mark(const Entry& e, bool left) { goes_left_[e.number] = left; }

    // The lists of a node; left, right: whether that child is searched, else its part may hold anything.
    void part_lists(int64_t begin, int64_t end, bool left, bool right) {
        const uint8_t* goes_left = goes_left_.data();
        for (std::vector<uint64_t>& list : lists_) {
            uint64_t *first = list.data() + begin, *last = list.data() + end;
            if (left) {
                uint64_t *next_left = first, *next_right = rights_.data();
                for (; first != last; ++first) {
                    const uint64_t key = *first, is_left = goes_left[static_cast<uint32_t>(key)];
                    *next_left = *next_right = key;
                    next_left += is_left;
                    next_right += 1 - is_left;
                }
                if (right) std::copy(rights_.data(), next_right, next_left);
            } else if (right) {  // from the end, so that none is overwritten before it is read
                for (uint64_t* next_right = last; last != first;) {
                    const uint64_t key = *--last;
                    next_right[-1] = key;
                    next_right -= 1 - goes_left[static_cast<uint32_t>(key)];
                }
            }
        }
    }

  private:
    static constexpr int64_t most_keys = int64_t{1} << 18;

    int64_t n_rows_;  // of the table
    const Stat* stats_ = nullptr;
    const Entry* entries_ = nullptr;
    std::vector<std::vector<uint64_t>> lists_;  // of each feature
    std::vector<uint8_t> goes_left_;            // of each row
    std::vector<uint64_t> rights_;
};

}  // namespace arboretum
