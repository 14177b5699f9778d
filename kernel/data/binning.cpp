#include "data/binning.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <utility>

#include "base/midpoint.hpp"
#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "data/cut_search.hpp"

namespace arboretum {

namespace {

struct WeightedValue {
    double value;
    double weight;
};

// Bits of a number, reordered so that unsigned comparison is numeric comparison.
uint32_t sort_key(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    return (bits >> 31) != 0 ? ~bits : bits | (1u << 31);
}

uint64_t sort_key(double value) {
    uint64_t bits = std::bit_cast<uint64_t>(value);
    return (bits >> 63) != 0 ? ~bits : bits | (1ull << 63);
}

float from_sort_key(uint32_t key) { return std::bit_cast<float>((key >> 31) != 0 ? key & ~(1u << 31) : ~key); }

double from_sort_key(uint64_t key) { return std::bit_cast<double>((key >> 63) != 0 ? key & ~(1ull << 63) : ~key); }

// Least-significant-digit radix sort; digits that are the same in all keys are skipped, which halves the work for
// float32 values (29 low bits of their double are zero).
void radix_sort(std::vector<uint64_t>& keys) {
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

// Keys and how often they occur, as long as there are few of them: sorting a long column only to find two values in it
// would cost far more than looking each one up.
class FewKeys {
  public:
    // False if there are too many keys, this one included.
    bool add(uint64_t key) {
        size_t slot = (key * 0x9e3779b97f4a7c15ull) >> (64 - slot_bits);
        while (counts_[slot] != 0 && keys_[slot] != key) slot = (slot + 1) % n_slots;
        n_keys_ += counts_[slot] == 0;
        keys_[slot] = key;
        ++counts_[slot];
        return n_keys_ <= most_keys;
    }

    std::vector<std::pair<uint64_t, int64_t>> rising() const {
        std::vector<std::pair<uint64_t, int64_t>> found;
        for (size_t slot = 0; slot < n_slots; ++slot)
            if (counts_[slot] != 0) found.emplace_back(keys_[slot], counts_[slot]);
        std::sort(found.begin(), found.end());
        return found;
    }

  private:
    static constexpr int slot_bits = 6;
    static constexpr size_t n_slots = size_t{1} << slot_bits, most_keys = n_slots / 2;

    std::array<uint64_t, n_slots> keys_{};
    std::array<int64_t, n_slots> counts_{};
    size_t n_keys_ = 0;
};

// Values in the sample with their weight, without missing values and rows of weight 0.
// −0 and 0 are one value.
class SampledColumn {
  public:
    void add(double value, const double* weights, Row row) {
        if (std::isnan(value)) return;
        if (weights == nullptr)
            add_key(sort_key(value + 0.0));
        else if (weights[row] > 0)
            weighted_.push_back({value + 0.0, weights[row]});
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
        if (keys_.empty())
            for (auto [key, count] : few_.rising()) put(from_sort_key(key), static_cast<double>(count));
        radix_sort(keys_);
        for (uint64_t key : keys_) put(from_sort_key(key), 1.0);
        std::sort(weighted_.begin(), weighted_.end(), [](const WeightedValue& a, const WeightedValue& b) {
            return a.value != b.value ? a.value < b.value : a.weight < b.weight;
        });
        for (const WeightedValue& v : weighted_) put(v.value, v.weight);
        return distinct;
    }

  private:
    void add_key(uint64_t key) {
        if (!keys_.empty()) return keys_.push_back(key);
        if (few_.add(key)) return;
        for (auto [found, count] : few_.rising()) keys_.insert(keys_.end(), count, found);
    }

    FewKeys few_;                          // without weights
    std::vector<uint64_t> keys_;           // all of them, once they are many
    std::vector<WeightedValue> weighted_;  // with weights
};

// A column that is mostly one value, as those of sparse tables: its other values share bins of a few rows. Each alone in
// a bin, they would be most of the cuts of a table that are searched, and tell nothing of other rows.
constexpr double main_share = 0.9, least_rare = 3;
constexpr size_t few_values = 16;

bool is_mostly_one(const std::vector<WeightedValue>& distinct) {
    double total = 0, most = 0;
    for (const WeightedValue& v : distinct) {
        total += v.weight;
        most = std::max(most, v.weight);
    }
    return distinct.size() > few_values && most >= main_share * total;
}

// Cuts between values, but for runs that together weigh less than `least`; nothing joins a value that weighs as much.
std::vector<double> cut_between(const std::vector<WeightedValue>& distinct, double least) {
    std::vector<double> cuts;
    double filled = 0;
    for (size_t i = 0; i + 1 < distinct.size(); ++i) {
        filled += distinct[i].weight;
        if (filled < least && distinct[i + 1].weight < least) continue;
        cuts.push_back(threshold_between(distinct[i].value, distinct[i + 1].value));
        filled = 0;
    }
    return cuts;
}

// Cuts that give bins of about equal weight. A value that alone outweighs a fair share has its own bin, as long as
// there are enough bins for the runs of lighter values between such heavy ones.
// max_bins <= 0: every distinct value is its own bin.
std::vector<double> choose_cuts(const std::vector<WeightedValue>& distinct, int64_t max_bins) {
    int64_t n = static_cast<int64_t>(distinct.size());
    if (max_bins <= 0) return cut_between(distinct, 0);
    if (n <= max_bins) return cut_between(distinct, is_mostly_one(distinct) ? least_rare : 0);
    std::vector<double> cuts;
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
        cuts.push_back(threshold_between(distinct[i].value, distinct[i + 1].value));
        if (!heavy[i]) target = rest / static_cast<double>(std::max<int64_t>(--bins_left, 1));
        filled = 0;
    }
    return cuts;
}

// The same cuts as find_cuts on the dense column. The zeros of a column are what its entries leave of the sample; their
// weights are added in rising order, as SampledColumn::distinct does.
class SparseCuts {
  public:
    SparseCuts(int64_t n_rows, std::vector<Row> sample, const double* weights)
        : sample_(std::move(sample)), weights_(weights), in_sample_(n_rows, 0) {
        for (Row row : sample_) in_sample_[row] = 1;
        if (weights == nullptr) return;
        std::erase_if(sample_, [&](Row row) { return !(weights[row] > 0); });
        std::sort(sample_.begin(), sample_.end(), [&](Row a, Row b) { return weights[a] < weights[b]; });
    }

    std::vector<std::vector<double>> find(const std::vector<SparseColumn>& columns, int64_t max_bins, int threads) {
        std::vector<std::vector<double>> cuts(columns.size());
        std::vector<std::vector<uint8_t>> listed(weights_ == nullptr ? 0 : threads);
        parallel_blocks(static_cast<int64_t>(columns.size()), 8, threads, [&](int64_t begin, int64_t end, int worker) {
            std::vector<uint8_t>* marks = weights_ == nullptr ? nullptr : &listed[worker];
            if (marks != nullptr) marks->resize(in_sample_.size());
            for (int64_t f = begin; f < end; ++f) cuts[f] = choose_cuts(distinct(columns[f], marks), max_bins);
        });
        return cuts;
    }

  private:
    std::vector<WeightedValue> distinct(const SparseColumn& column, std::vector<uint8_t>* listed) const {
        SampledColumn others;
        int64_t zeros = static_cast<int64_t>(sample_.size());
        for (int64_t i = 0; i < column.n; ++i) {
            const Row row = column.rows[i];
            if (!in_sample_[row] || column.values[i] == 0) continue;
            --zeros;
            others.add(column.values[i], weights_, row);
            if (listed != nullptr) (*listed)[row] = 1;
        }
        std::vector<WeightedValue> found = others.distinct();
        const double weight = listed == nullptr ? static_cast<double>(zeros) : weight_of_zeros(*listed);
        if (listed != nullptr)
            for (int64_t i = 0; i < column.n; ++i) (*listed)[column.rows[i]] = 0;
        auto place = std::find_if(found.begin(), found.end(), [](const WeightedValue& v) { return v.value > 0; });
        if (weight > 0) found.insert(place, {0.0, weight});
        return found;
    }

    double weight_of_zeros(const std::vector<uint8_t>& listed) const {
        double weight = 0;
        for (Row row : sample_)
            if (!listed[row]) weight += weights_[row];
        return weight;
    }

    std::vector<Row> sample_;  // with weights: those above 0, by rising weight
    const double* weights_;
    std::vector<uint8_t> in_sample_;
};

// Sorts (value, row) pairs by their digits, as radix_sort does for values alone.
// Real: the type of the column.
template <class Real>
RankedColumn rank_values(const RawColumn& column, int64_t n_rows) {
    using Key = decltype(sort_key(Real{}));
    using Pair = std::pair<Key, Row>;
    constexpr int digit_bits = 11, n_digits = (8 * static_cast<int>(sizeof(Key)) + digit_bits - 1) / digit_bits;
    constexpr size_t n_buckets = size_t{1} << digit_bits;
    std::vector<Pair> pairs, other;
    pairs.reserve(n_rows);
    std::vector<uint32_t> counts(n_buckets * n_digits, 0);
    for (int64_t row = 0; row < n_rows; ++row) {
        const Real value = column.at<Real>(row);
        if (std::isnan(value)) continue;
        pairs.emplace_back(sort_key(value + Real{0}), static_cast<Row>(row));
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

// Assigns codes of `columns` to features first, first + 1, … and reports which columns have missing values. The columns
// hold rows [first_row, first_row + n_rows) of the table.
class CodeAssigner {
  public:
    CodeAssigner(BinnedData& data, int32_t first, const std::vector<RawColumn>& columns,
                 const std::vector<std::vector<double>>& cuts, int64_t first_row, int64_t n_rows)
        : data_(data),
          first_(first),
          columns_(columns),
          first_row_(first_row),
          n_rows_(n_rows),
          missing_(columns.size()) {
        for (size_t j = 0; j < columns.size(); ++j) {
            float32_cuts_.push_back(columns[j].type == ValueType::float32 ? padded_cuts<float>(cuts[j])
                                                                          : std::vector<float>{});
            float64_cuts_.push_back(columns[j].type == ValueType::float64 ? padded_cuts<double>(cuts[j])
                                                                          : std::vector<double>{});
        }
    }

    std::vector<bool> run(int threads) {
        // One chunk of rows in all columns before the next chunk: rows of a wide table lie pages apart.
        parallel_blocks(n_rows_, row_block, threads, [&](int64_t begin, int64_t end, int) {
            for (int64_t row = begin; row < end; row += search_chunk)
                for (size_t j = 0; j < columns_.size(); ++j) assign(static_cast<int32_t>(j), row, end);
        });
        data_.forget(first_row_, first_row_ + n_rows_);
        for (size_t j = 0; j < columns_.size(); ++j)
            if (missing_[j]) data_.mark_missing(first_ + static_cast<int32_t>(j));
        return {missing_.begin(), missing_.end()};
    }

  private:
    static constexpr int64_t row_block = 2048;

    void assign(int32_t j, int64_t row, int64_t end) {
        const int n = static_cast<int>(std::clamp<int64_t>(end - row, 1, search_chunk));
        int codes[search_chunk];
        switch (columns_[j].type) {
            case ValueType::float32: search<float>(j, row, n, float32_cuts_[j], codes); break;
            case ValueType::float64: search<double>(j, row, n, float64_cuts_[j], codes); break;
            case ValueType::category: look_up(j, row, n, codes); break;
        }
        data_.put(first_ + j, first_row_ + row, n, codes);
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
    int64_t first_row_, n_rows_;
    std::vector<std::vector<float>> float32_cuts_;
    std::vector<std::vector<double>> float64_cuts_;
    std::vector<std::atomic<bool>> missing_;
};

// Codes of a compressed matrix: features get the columns in their order.
class SparseAssigner {
  public:
    SparseAssigner(BinnedData& data, const std::vector<SparseColumn>& columns,
                   const std::vector<std::vector<double>>& cuts)
        : data_(data), columns_(columns), cuts_(cuts), zero_(columns.size()) {
        for (size_t f = 0; f < columns.size(); ++f) zero_[f] = code_of(0.0, cuts[f], info(f).n_bins);
    }

    // Which features have missing values.
    std::vector<bool> run(int threads) {
        const int64_t n = static_cast<int64_t>(columns_.size());
        parallel_blocks(n, column_group, threads, [&](int64_t begin, int64_t end, int) {
            std::vector<Cursor> dense;
            for (int64_t f = begin; f < end; ++f) {
                if (info(f).bundle >= 0 && info(f).default_code == zero_[f])
                    scatter(static_cast<int32_t>(f));
                else
                    dense.push_back({static_cast<int32_t>(f), 0});
            }
            fill(dense);
        });
        std::vector<bool> missing(n);
        for (int64_t f = 0; f < n; ++f) {
            const SparseColumn& column = columns_[f];
            missing[f] = std::any_of(column.values, column.values + column.n, [](double v) { return std::isnan(v); });
            if (missing[f]) data_.mark_missing(static_cast<int32_t>(f));
        }
        return missing;
    }

  private:
    struct Cursor {
        int32_t feature;
        int64_t next;  // entry of its column
    };

    const FeatureCodes& info(int64_t f) const { return data_.feature(static_cast<int32_t>(f)); }
    Code code_at(int32_t f, int64_t entry) const {
        return code_of(columns_[f].values[entry], cuts_[f], info(f).n_bins);
    }

    void scatter(int32_t f) {
        for (int64_t i = 0; i < columns_[f].n; ++i) data_.put_bundled(f, columns_[f].rows[i], code_at(f, i));
    }

    // All features for some rows before the next rows: they lie together.
    void fill(std::vector<Cursor>& cursors) {
        int codes[search_chunk];
        for (int64_t row = 0; row < data_.n_rows(); row += search_chunk) {
            const int n = static_cast<int>(std::min<int64_t>(search_chunk, data_.n_rows() - row));
            for (auto& [f, next] : cursors) {
                std::fill_n(codes, search_chunk, static_cast<int>(zero_[f]));
                for (; next < columns_[f].n && columns_[f].rows[next] < row + n; ++next)
                    codes[columns_[f].rows[next] - row] = static_cast<int>(code_at(f, next));
                data_.put(f, row, n, codes);
            }
        }
    }

    BinnedData& data_;
    const std::vector<SparseColumn>& columns_;
    const std::vector<std::vector<double>>& cuts_;
    std::vector<Code> zero_;
};

}  // namespace

std::vector<Row> sample_rows(int64_t n_rows, int64_t size) {
    constexpr uint64_t purpose = 0x62696e73;  // "bins"
    std::vector<Row> rows;
    uint64_t limit = n_rows <= size ? ~0ull : static_cast<uint64_t>(static_cast<double>(size) / n_rows * 0x1p64);
    rows.reserve(std::min(n_rows, size + size / 16));
    for (int64_t row = 0; row < n_rows; ++row)
        if (n_rows <= size || draw(purpose, row) < limit) rows.push_back(static_cast<Row>(row));
    return rows;
}

std::vector<std::vector<double>> find_cuts(const std::vector<RawColumn>& columns, const std::vector<Row>& rows,
                                           const double* weights, int64_t max_bins, int threads) {
    std::vector<std::vector<double>> cuts(columns.size());
    parallel_blocks(static_cast<int64_t>(columns.size()), column_group, threads, [&](int64_t begin, int64_t end, int) {
        std::vector<SampledColumn> sampled(end - begin);
        for (size_t i = 0; i < rows.size(); ++i) {
            columns[begin].prefetch(rows[std::min(i + rows_ahead, rows.size() - 1)]);
            for (int64_t f = begin; f < end; ++f)
                if (columns[f].type != ValueType::category)
                    sampled[f - begin].add(columns[f].number(rows[i]), weights, rows[i]);
        }
        for (int64_t f = begin; f < end; ++f) cuts[f] = choose_cuts(sampled[f - begin].distinct(), max_bins);
    });
    return cuts;
}

std::vector<std::vector<double>> find_sparse_cuts(const std::vector<SparseColumn>& columns, int64_t n_rows,
                                                  std::vector<Row> sample, const double* weights, int64_t max_bins,
                                                  int threads) {
    return SparseCuts(n_rows, std::move(sample), weights).find(columns, max_bins, threads);
}

std::vector<RankedColumn> rank_columns(const std::vector<RawColumn>& columns, int64_t n_rows, int threads) {
    std::vector<RankedColumn> ranked(columns.size());
    parallel_for(static_cast<int64_t>(columns.size()), threads, [&](int64_t f, int) {
        if (columns[f].type == ValueType::category) return;
        ranked[f] = columns[f].type == ValueType::float32 ? rank_values<float>(columns[f], n_rows)
                                                          : rank_values<double>(columns[f], n_rows);
    });
    return ranked;
}

bool put_codes(BinnedData& data, int32_t feature, const Code* codes, int threads) {
    const Code n_bins = data.feature(feature).n_bins;
    std::atomic<bool> missing{false};
    parallel_blocks(data.n_rows(), 4096, threads, [&](int64_t begin, int64_t end, int) {
        std::vector<int> block(end - begin);
        bool found = false;
        for (int64_t row = begin; row < end; ++row) {
            block[row - begin] = static_cast<int>(codes[row]);
            found |= codes[row] == n_bins;
        }
        data.put(feature, begin, static_cast<int>(end - begin), block.data());
        if (found) missing = true;
    });
    if (missing) data.mark_missing(feature);
    return missing;
}

std::vector<bool> assign_codes(BinnedData& data, int32_t first, const std::vector<RawColumn>& columns,
                               const std::vector<std::vector<double>>& cuts, int64_t first_row, int64_t n_rows,
                               int threads) {
    return CodeAssigner(data, first, columns, cuts, first_row, n_rows).run(threads);
}

std::vector<bool> assign_sparse(BinnedData& data, const std::vector<SparseColumn>& columns,
                                const std::vector<std::vector<double>>& cuts, int threads) {
    return SparseAssigner(data, columns, cuts).run(threads);
}

}  // namespace arboretum
