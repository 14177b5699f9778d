// Values to codes: quantile cuts from a sample, then a branch-free search for every value.
#pragma once

#include <atomic>
#include <cmath>
#include <cstring>

#include "binned_data.hpp"
#include "parallel.hpp"
#include "rng.hpp"
#include "simd.hpp"

namespace arboretum {

enum class ValueType : int { float32, float64, category };

// One column of a table as the user holds it: any stride, no copy.
struct RawColumn {
    const char* data;
    int64_t stride;  // bytes
    ValueType type;

    template <class T>
    T at(int64_t row) const {
        T value;
        std::memcpy(&value, data + row * stride, sizeof value);
        return value;
    }
    double number(int64_t row) const { return type == ValueType::float32 ? at<float>(row) : at<double>(row); }
};

struct WeightedValue {
    double value;
    double weight;
};

// Bits of a double, reordered so that unsigned comparison is numeric comparison.
inline uint64_t sort_key(double value) {
    uint64_t bits = std::bit_cast<uint64_t>(value);
    return (bits >> 63) != 0 ? ~bits : bits | (1ull << 63);
}

inline double from_sort_key(uint64_t key) {
    return std::bit_cast<double>((key >> 63) != 0 ? key & ~(1ull << 63) : ~key);
}

// Least-significant-digit radix sort; digits that are the same in all keys are skipped, which halves the work for
// float32 values (29 low bits of their double are zero).
inline void radix_sort(std::vector<uint64_t>& keys) {
    constexpr int digit_bits = 11, n_digits = 6;
    constexpr size_t n_buckets = size_t{1} << digit_bits;
    std::vector<uint32_t> counts(n_buckets * n_digits, 0);
    for (uint64_t key : keys)
        for (int d = 0; d < n_digits; ++d) ++counts[d * n_buckets + ((key >> (d * digit_bits)) & (n_buckets - 1))];
    std::vector<uint64_t> other(keys.size());
    for (int d = 0; d < n_digits; ++d) {
        uint32_t* count = counts.data() + d * n_buckets;
        if (*std::max_element(count, count + n_buckets) == keys.size()) continue;
        uint32_t start = 0;
        for (size_t b = 0; b < n_buckets; ++b) start += std::exchange(count[b], start);
        for (uint64_t key : keys) other[count[(key >> (d * digit_bits)) & (n_buckets - 1)]++] = key;
        keys.swap(other);
    }
}

// Values in the sample, missing ones and rows of no weight left out, with their weight.
// −0 and 0 are one value.
struct SampledColumn {
    std::vector<uint64_t> keys;           // without weights
    std::vector<WeightedValue> weighted;  // with weights

    void add(double value, const double* weights, Row row) {
        if (std::isnan(value)) return;
        if (weights == nullptr)
            keys.push_back(sort_key(value + 0.0));
        else if (weights[row] > 0)
            weighted.push_back({value + 0.0, weights[row]});
    }

    // Distinct values in rising order with their total weight.
    std::vector<WeightedValue> distinct() {
        std::vector<WeightedValue> distinct;
        auto put = [&](double value, double weight) {
            if (!distinct.empty() && distinct.back().value == value)
                distinct.back().weight += weight;
            else
                distinct.push_back({value, weight});
        };
        radix_sort(keys);
        for (uint64_t key : keys) put(from_sort_key(key), 1.0);
        std::sort(weighted.begin(), weighted.end(), [](const WeightedValue& a, const WeightedValue& b) {
            return a.value != b.value ? a.value < b.value : a.weight < b.weight;
        });
        for (const WeightedValue& v : weighted) put(v.value, v.weight);
        return distinct;
    }
};

// A threshold t with a <= t < b.
inline double between(double a, double b) {
    double middle = a / 2 + b / 2;
    return middle >= a && middle < b ? middle : a;
}

// Cuts that give bins of about equal weight. A value that alone outweighs a fair share has its own bin, as long as
// there are enough bins for the runs of lighter values between such heavy ones.
// max_bins <= 0: every distinct value is its own bin.
inline std::vector<double> choose_cuts(const std::vector<WeightedValue>& distinct, int64_t max_bins) {
    std::vector<double> cuts;
    int64_t n = static_cast<int64_t>(distinct.size());
    if (max_bins <= 0 || n <= max_bins) {
        for (int64_t i = 0; i + 1 < n; ++i) cuts.push_back(between(distinct[i].value, distinct[i + 1].value));
        return cuts;
    }
    double rest = 0;
    for (const WeightedValue& v : distinct) rest += v.weight;
    double share = rest / static_cast<double>(max_bins);
    std::vector<bool> heavy(n);
    int64_t bins_left = max_bins;
    for (int64_t i = 0; i < n; ++i)
        if ((heavy[i] = distinct[i].weight >= share)) {
            rest -= distinct[i].weight;
            --bins_left;
        }
    std::vector<int64_t> runs_after(n + 1, 0);  // runs of light values that begin after each position
    for (int64_t i = n - 1; i > 0; --i) runs_after[i - 1] = runs_after[i] + (!heavy[i] && heavy[i - 1]);
    double target = rest / static_cast<double>(std::max<int64_t>(bins_left, 1));
    double filled = 0;
    for (int64_t i = 0; i + 1 < n && static_cast<int64_t>(cuts.size()) < max_bins - 1; ++i) {
        if (!heavy[i]) {
            filled += distinct[i].weight;
            rest -= distinct[i].weight;
        }
        bool full =
            filled >= target || (heavy[i + 1] && filled > 0 && (bins_left > runs_after[i] || filled >= target / 2));
        if (!heavy[i] && !full) continue;
        cuts.push_back(between(distinct[i].value, distinct[i + 1].value));
        if (!heavy[i]) target = rest / static_cast<double>(std::max<int64_t>(--bins_left, 1));
        filled = 0;
    }
    return cuts;
}

// Rows whose cuts are taken from: about `size` of them, chosen by a hash of the row number alone, so that the choice
// does not depend on how the rows are partitioned.
inline std::vector<Row> sample_rows(int64_t n_rows, int64_t size) {
    constexpr uint64_t purpose = 0x62696e73;  // "bins"
    std::vector<Row> rows;
    uint64_t limit = n_rows <= size ? ~0ull : static_cast<uint64_t>(static_cast<double>(size) / n_rows * 0x1p64);
    rows.reserve(std::min(n_rows, size + size / 16));
    for (int64_t row = 0; row < n_rows; ++row)
        if (n_rows <= size || draw(purpose, row) < limit) rows.push_back(static_cast<Row>(row));
    return rows;
}

// Neighbouring columns are sampled together: in a row-major table they share cache lines.
inline std::vector<std::vector<double>> find_cuts(const std::vector<RawColumn>& columns, const std::vector<Row>& rows,
                                                  const double* weights, int64_t max_bins, int threads) {
    constexpr int64_t group = 8;
    std::vector<std::vector<double>> cuts(columns.size());
    parallel_blocks(static_cast<int64_t>(columns.size()), group, threads, [&](int64_t begin, int64_t end, int) {
        std::vector<SampledColumn> sampled(end - begin);
        for (Row row : rows)
            for (int64_t f = begin; f < end; ++f)
                if (columns[f].type != ValueType::category)
                    sampled[f - begin].add(columns[f].number(row), weights, row);
        for (int64_t f = begin; f < end; ++f) cuts[f] = choose_cuts(sampled[f - begin].distinct(), max_bins);
    });
    return cuts;
}

// Every distinct value of a numeric column its own code.
struct RankedColumn {
    std::vector<double> values;  // rising
    std::vector<Code> codes;     // of each row: place of its value; missing: the code after the last
};

// Sorts (value, row) pairs by their digits, as radix_sort does for values alone.
inline RankedColumn rank_values(const RawColumn& column, int64_t n_rows) {
    using Pair = std::pair<uint64_t, Row>;
    constexpr int digit_bits = 11, n_digits = 6;
    constexpr size_t n_buckets = size_t{1} << digit_bits;
    std::vector<Pair> pairs, other;
    pairs.reserve(n_rows);
    std::vector<uint32_t> counts(n_buckets * n_digits, 0);
    for (int64_t row = 0; row < n_rows; ++row) {
        const double value = column.number(row);
        if (std::isnan(value)) continue;
        pairs.emplace_back(sort_key(value + 0.0), static_cast<Row>(row));
        for (int d = 0; d < n_digits; ++d)
            ++counts[d * n_buckets + ((pairs.back().first >> (d * digit_bits)) & (n_buckets - 1))];
    }
    other.resize(pairs.size());
    for (int d = 0; d < n_digits; ++d) {
        uint32_t* count = counts.data() + d * n_buckets;
        if (*std::max_element(count, count + n_buckets) == pairs.size()) continue;
        uint32_t start = 0;
        for (size_t b = 0; b < n_buckets; ++b) start += std::exchange(count[b], start);
        for (const Pair& pair : pairs) other[count[(pair.first >> (d * digit_bits)) & (n_buckets - 1)]++] = pair;
        pairs.swap(other);
    }
    RankedColumn ranked{{}, std::vector<Code>(n_rows)};
    for (size_t i = 0; i < pairs.size(); ++i) {
        if (i == 0 || pairs[i].first != pairs[i - 1].first) ranked.values.push_back(from_sort_key(pairs[i].first));
        ranked.codes[pairs[i].second] = static_cast<Code>(ranked.values.size() - 1);
    }
    const Code missing = std::max<Code>(1, static_cast<Code>(ranked.values.size()));
    if (static_cast<int64_t>(pairs.size()) < n_rows)
        for (int64_t row = 0; row < n_rows; ++row)
            if (std::isnan(column.number(row))) ranked.codes[row] = missing;
    return ranked;
}

inline std::vector<RankedColumn> rank_columns(const std::vector<RawColumn>& columns, int64_t n_rows, int threads) {
    std::vector<RankedColumn> ranked(columns.size());
    parallel_for(static_cast<int64_t>(columns.size()), threads, [&](int64_t f, int) {
        if (columns[f].type != ValueType::category) ranked[f] = rank_values(columns[f], n_rows);
    });
    return ranked;
}

// Writes codes that are known; returns whether some are missing.
inline bool put_codes(BinnedData& data, int32_t feature, const Code* codes, int threads) {
    const Code n_bins = data.feature(feature).n_bins;
    std::atomic<bool> missing{false};
    parallel_blocks(data.n_rows(), 4096, threads, [&](int64_t begin, int64_t end, int) {
        int block[4096];
        bool found = false;
        for (int64_t row = begin; row < end; ++row) {
            block[row - begin] = static_cast<int>(codes[row]);
            found |= codes[row] == n_bins;
        }
        const int n = static_cast<int>(end - begin);
        switch (data.feature(feature).width) {
            case 1: data.put<uint8_t>(feature, begin, n, block); break;
            case 2: data.put<uint16_t>(feature, begin, n, block); break;
            default: data.put<uint32_t>(feature, begin, n, block);
        }
        if (found) missing = true;
    });
    if (missing) data.mark_missing(feature);
    return missing;
}

// code = number of cuts below the value, for a chunk of values at once. `cuts` is padded with +inf to a power of two:
// up to 15 of them, evenly spread, are counted for all values (vectorised), the part between two of them is halved.
constexpr int search_chunk = 256;

template <class T>
[[gnu::always_inline]] inline void count_cuts(const T* values, int n, const T* cuts, int part, int n_parts,
                                              int* codes) {
    for (int i = 0; i < n; ++i) codes[i] = 0;
    for (int k = 1; k < n_parts; ++k) {
        const T cut = cuts[k * part - 1];
        for (int i = 0; i < n; ++i) codes[i] += cut < values[i];
    }
}

ARBORETUM_CLONES inline void count_cuts32(const float* values, int n, const float* cuts, int part, int n_parts,
                                          int* codes) {
    count_cuts(values, n, cuts, part, n_parts, codes);
}
ARBORETUM_CLONES inline void count_cuts64(const double* values, int n, const double* cuts, int part, int n_parts,
                                          int* codes) {
    count_cuts(values, n, cuts, part, n_parts, codes);
}

template <class T>
void search_cuts(const T* values, int n, const std::vector<T>& cuts, int* codes) {
    const int size = static_cast<int>(cuts.size()), part = std::max(size / 16, 1);
    if constexpr (std::is_same_v<T, float>)
        count_cuts32(values, n, cuts.data(), part, size / part, codes);
    else
        count_cuts64(values, n, cuts.data(), part, size / part, codes);
    for (int i = 0; i < n; ++i) {
        size_t code = static_cast<size_t>(codes[i]) * part;
        // A product, not a choice: compilers turn a choice into a branch that is mispredicted half the time.
        for (size_t step = part / 2; step > 0; step /= 2) code += step * size_t{cuts[code + step - 1] < values[i]};
        codes[i] = static_cast<int>(code);
    }
}

// The largest T not above x: `value <= x` and `value <= round_down(x)` agree for every T value.
template <class T>
T round_down(double x) {
    T rounded = static_cast<T>(x);
    return rounded > x ? std::nextafter(rounded, -std::numeric_limits<T>::infinity()) : rounded;
}

template <class T>
std::vector<T> padded_cuts(const std::vector<double>& cuts) {
    std::vector<T> padded(std::bit_ceil(cuts.size() + 1), std::numeric_limits<T>::infinity());
    std::transform(cuts.begin(), cuts.end(), padded.begin(), round_down<T>);
    return padded;
}

// Assigns codes of `columns` to features first, first + 1, … and reports which columns have missing values.
class CodeAssigner {
  public:
    CodeAssigner(BinnedData& data, int32_t first, const std::vector<RawColumn>& columns,
                 const std::vector<std::vector<double>>& cuts)
        : data_(data), first_(first), columns_(columns), missing_(columns.size()) {
        for (size_t j = 0; j < columns.size(); ++j) {
            float32_cuts_.push_back(columns[j].type == ValueType::float32 ? padded_cuts<float>(cuts[j])
                                                                          : std::vector<float>{});
            float64_cuts_.push_back(columns[j].type == ValueType::float64 ? padded_cuts<double>(cuts[j])
                                                                          : std::vector<double>{});
        }
    }

    std::vector<bool> run(int threads) {
        parallel_blocks(data_.n_rows(), row_block, threads, [&](int64_t begin, int64_t end, int) {
            for (size_t j = 0; j < columns_.size(); ++j) assign(static_cast<int32_t>(j), begin, end);
        });
        for (size_t j = 0; j < columns_.size(); ++j)
            if (missing_[j]) data_.mark_missing(first_ + static_cast<int32_t>(j));
        return {missing_.begin(), missing_.end()};
    }

  private:
    static constexpr int64_t row_block = 2048;

    void assign(int32_t j, int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; row += search_chunk) {
            int n = static_cast<int>(std::min<int64_t>(search_chunk, end - row));
            int codes[search_chunk];
            switch (columns_[j].type) {
                case ValueType::float32: search<float>(j, row, n, float32_cuts_[j], codes); break;
                case ValueType::float64: search<double>(j, row, n, float64_cuts_[j], codes); break;
                case ValueType::category: look_up(j, row, n, codes); break;
            }
            switch (data_.feature(first_ + j).width) {
                case 1: data_.put<uint8_t>(first_ + j, row, n, codes); break;
                case 2: data_.put<uint16_t>(first_ + j, row, n, codes); break;
                default: data_.put<uint32_t>(first_ + j, row, n, codes);
            }
        }
    }

    template <class T>
    void search(int32_t j, int64_t row, int n, const std::vector<T>& cuts, int* codes) {
        T values[search_chunk];
        for (int i = 0; i < n; ++i) values[i] = columns_[j].at<T>(row + i);
        search_cuts(values, n, cuts, codes);
        int missing_code = static_cast<int>(data_.feature(first_ + j).n_bins);
        bool missing = false;
        for (int i = 0; i < n; ++i) {
            bool is_missing = values[i] != values[i];
            codes[i] = is_missing ? missing_code : codes[i];
            missing |= is_missing;
        }
        if (missing) missing_[j] = true;
    }

    void look_up(int32_t j, int64_t row, int n, int* codes) {
        int missing_code = static_cast<int>(data_.feature(first_ + j).n_bins);
        for (int i = 0; i < n; ++i) {
            int code = columns_[j].at<int32_t>(row + i);
            bool known = code >= 0 && code < missing_code;
            codes[i] = known ? code : missing_code;
            if (!known) missing_[j] = true;
        }
    }

    BinnedData& data_;
    int32_t first_;
    const std::vector<RawColumn>& columns_;
    std::vector<std::vector<float>> float32_cuts_;
    std::vector<std::vector<double>> float64_cuts_;
    std::vector<std::atomic<bool>> missing_;
};

}  // namespace arboretum
