#include "data/target_statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "base/long_sums.hpp"
#include "base/parallel.hpp"
#include "base/rng.hpp"

namespace arboretum {

// ---- orders --------------------------------------------------------------------------------------------------------

namespace {

// Rows by rising hash of (key, row). Counting sort by the high bits leaves buckets of a few rows.
void draw_order(int64_t n_rows, uint64_t key, Row* out) {
    struct Ticket {
        uint64_t draw;
        Row row;
        bool operator<(const Ticket& other) const { return draw != other.draw ? draw < other.draw : row < other.row; }
    };
    const int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(n_rows))) - 3);
    std::vector<int64_t> end((size_t{1} << bits) + 1);
    for (int64_t row = 0; row < n_rows; ++row) ++end[(draw(key, row) >> (64 - bits)) + 1];
    for (size_t b = 1; b < end.size(); ++b) end[b] += end[b - 1];
    std::vector<Ticket> tickets(n_rows);
    for (int64_t row = 0; row < n_rows; ++row) {
        const uint64_t drawn = draw(key, row);
        tickets[end[drawn >> (64 - bits)]++] = {drawn, static_cast<Row>(row)};
    }
    int64_t begin = 0;
    for (size_t b = 0; b + 1 < end.size(); begin = end[b++])
        std::sort(tickets.begin() + begin, tickets.begin() + end[b]);
    for (const Ticket& ticket : tickets) *out++ = ticket.row;
}

}  // namespace

void draw_orders(int64_t n_rows, std::span<const uint64_t> keys, int threads, Row* out) {
    parallel_for(static_cast<int64_t>(keys.size()), threads,
                 [&](int64_t i, int) { draw_order(n_rows, keys[i], out + i * n_rows); });
}

// ---- levels --------------------------------------------------------------------------------------------------------

namespace {

constexpr int64_t no_key = -1;
constexpr int32_t unknown_level = -2;

}  // namespace

void combined_keys(std::span<const CodeColumn> columns, int64_t n_rows, int threads, int64_t* out) {
    parallel_blocks(n_rows, 65536, threads, [&](int64_t begin, int64_t end, int) {
        std::fill(out + begin, out + end, 0);
        for (const CodeColumn& column : columns) {
            for (int64_t row = begin; row < end; ++row) {
                const int64_t digit = int64_t{column.codes[row]} + 1;
                const bool known = out[row] >= 0 && digit >= 0 && digit < column.radix;
                out[row] = known ? out[row] * column.radix + digit : no_key;
            }
        }
    });
}

void find_levels(std::span<const int64_t> keys, std::span<const int64_t> known, int threads, int32_t* out) {
    const int64_t n_rows = static_cast<int64_t>(keys.size());
    const int64_t first = known.empty() ? 0 : known.front(), last = known.empty() ? -1 : known.back();
    std::vector<int32_t> place;
    if (last - first < 4 * n_rows) {
        place.assign(last - first + 1, unknown_level);
        for (size_t level = 0; level < known.size(); ++level) place[known[level] - first] = static_cast<int32_t>(level);
    }
    auto level_of = [&](int64_t key) {
        if (key < first || key > last) return unknown_level;
        if (!place.empty()) return place[key - first];
        const auto found = std::lower_bound(known.begin(), known.end(), key);
        return *found == key ? static_cast<int32_t>(found - known.begin()) : unknown_level;
    };
    parallel_blocks(n_rows, 65536, threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; ++row) out[row] = level_of(keys[row]);
    });
}

// ---- ordered means -------------------------------------------------------------------------------------------------

namespace {

template <TargetPart part>
double part_of(double y, double at) {
    if constexpr (part == TargetPart::equal) return y == at ? 1.0 : 0.0;
    if constexpr (part == TargetPart::above) return y > at ? 1.0 : 0.0;
    return y;
}

struct LevelSums {
    double weight = 0.0, value = 0.0;

    double mean(double prior, double prior_weight) const {
        return weight > 0 ? (value + prior_weight * prior) / (weight + prior_weight) : prior;
    }
    void add(double w, double x) { weight += w, value += w * x; }
};

// Sums of whole numbers that a double holds are exact as they are.
struct PlainSums {
    LevelSums sums;

    void add(double w, double x) { sums.add(w, x); }
    const LevelSums& get() const { return sums; }
};

// All others are summed exactly too (base/long_sums.hpp), so that they do not depend on the order of rows before.
struct LongSums {
    LongSum weight, value;
    int weight_power, value_power;

    void add(double w, double x) {
        weight.add(w, weight_power);
        value.add(w * x, value_power);
    }
    LevelSums get() const { return {weight.value(weight_power), value.value(value_power)}; }
};

// What decides how weights and values are summed.
struct TermFacts {
    double largest_weight = 0, largest_value = 0;
    double weight = 0, value = 0;  // Σ |·|
    bool whole_weights = true, whole_values = true;
};

TermFacts term_facts(const WeightedTarget& rows) {
    TermFacts facts;
    for (size_t row = 0; row < rows.target.size(); ++row) {
        const double w = rows.weight_of(row), x = w * rows.target[row];
        facts.largest_weight = std::max(facts.largest_weight, w);
        facts.largest_value = std::max(facts.largest_value, std::abs(x));
        facts.weight += w;
        facts.value += std::abs(x);
        facts.whole_weights &= w == std::floor(w);
        facts.whole_values &= x == std::floor(x);
    }
    return facts;
}

template <TargetPart part, class Sums>
void ordered_mean(const OrderedMean& mean, const LevelColumn& source, const WeightedTarget& rows, const Row* order,
                  std::vector<Sums> sums, double* out) {
    constexpr size_t prefetch_distance = 16;
    for (size_t i = 0, n = rows.target.size(); i < n; ++i) {
        const Row row = order[i], next = order[std::min(i + prefetch_distance, n - 1)];
        __builtin_prefetch(source.levels + next);
        __builtin_prefetch(rows.target.data() + next);
        __builtin_prefetch(out + next, 1);
        const int32_t level = source.levels[row];
        if (level < 0) {
            out[row] = mean.prior;
            continue;
        }
        out[row] = sums[level].get().mean(mean.prior, mean.prior_weight);
        sums[level].add(rows.weight_of(row), part_of<part>(rows.target[row], mean.at));
    }
}

// Units are given, for terms of other parts of the rows count too. PlainSums would round to the same numbers.
std::vector<LongSums> first_sums(const SumsBefore& before, int64_t n_levels) {
    std::vector<LongSums> sums;
    sums.reserve(n_levels);
    for (int64_t word = 0; word < n_levels * LongSum::n_words; word += LongSum::n_words) {
        const LongSum weight(before.weight + word), value(before.value + word);
        sums.push_back({weight, value, before.weight_power, before.value_power});
    }
    return sums;
}

template <TargetPart part>
void ordered_mean(const OrderedMean& mean, const LevelColumn& source, const WeightedTarget& rows, const Row* order,
                  const TermFacts& facts, const SumsBefore* before, double* out) {
    constexpr double most = 0x1p53;
    constexpr bool is_number = part == TargetPart::number;  // other parts are 0 or 1
    if (before != nullptr)
        return ordered_mean<part>(mean, source, rows, order, first_sums(*before, source.n_levels), out);
    auto from_nothing = [&](const auto& nothing) {
        ordered_mean<part>(mean, source, rows, order, std::vector(source.n_levels, nothing), out);
    };
    const bool whole_weights = facts.whole_weights && facts.weight < most;
    if (whole_weights && (!is_number || (facts.whole_values && facts.value < most))) return from_nothing(PlainSums{});
    const auto n = static_cast<int64_t>(rows.target.size());
    const int weight = LongSum::power_of(facts.largest_weight, n);
    const int value = is_number ? LongSum::power_of(facts.largest_value, n) : weight;
    from_nothing(LongSums{{}, {}, weight, value});
}

}  // namespace

void ordered_means(std::span<const OrderedMean> means, std::span<const LevelColumn> sources, const WeightedTarget& rows,
                   std::span<const Row> orders, std::span<const SumsBefore> before, int64_t n_columns, int threads,
                   double* out) {
    const int64_t n_rows = static_cast<int64_t>(rows.target.size()), n_means = static_cast<int64_t>(means.size());
    const int64_t n_orders = static_cast<int64_t>(orders.size()) / std::max<int64_t>(n_rows, 1);
    const TermFacts facts = term_facts(rows);
    parallel_for(n_orders * n_means, threads, [&](int64_t i, int) {
        const OrderedMean& mean = means[i % n_means];
        const Row* order = orders.data() + i / n_means * n_rows;
        double* column = out + (i / n_means * n_columns + mean.column) * n_rows;
        auto run = [&]<TargetPart part>() {
            const SumsBefore* first = before.empty() ? nullptr : &before[i % n_means];
            ordered_mean<part>(mean, sources[mean.source], rows, order, facts, first, column);
        };
        if (mean.part == TargetPart::equal) run.template operator()<TargetPart::equal>();
        if (mean.part == TargetPart::above) run.template operator()<TargetPart::above>();
        if (mean.part == TargetPart::number) run.template operator()<TargetPart::number>();
    });
}

// ---- scores of pairs -----------------------------------------------------------------------------------------------

namespace {

// Numbers keys 0, 1, 2, … in the order in which they first come: open addressing, exact.
class KeyNumbers {
  public:
    explicit KeyNumbers(size_t most) : slots_(std::bit_ceil(2 * most + 1)) {}

    size_t number(uint64_t key) {
        const size_t mask = slots_.size() - 1;
        for (size_t at = mix(key) & mask;; at = (at + 1) & mask) {
            Slot& slot = slots_[at];
            if (slot.number == 0) slot = {key, ++n_};
            if (slot.key == key) return slot.number - 1;
        }
    }

  private:
    struct Slot {
        uint64_t key = 0;
        size_t number = 0;  // from 1; 0: free
    };
    std::vector<Slot> slots_;
    size_t n_ = 0;
};

// What ordered means of a pair of columns, in the order of the rows, lose with priors of weight 1: log-loss of the
// shares of the classes (one prior each), or squared error of the mean of the target (a single prior).
double ordered_loss(const int32_t* first, const int32_t* second, const WeightedTarget& rows,
                    std::span<const double> priors) {
    const size_t n_rows = rows.target.size(), n_classes = priors.size();
    KeyNumbers levels(n_rows), cells(n_rows);  // a cell: a class in a level
    std::vector<LevelSums> of_level(n_rows);
    std::vector<double> of_cell(n_rows);
    double loss = 0;
    for (size_t row = 0; row < n_rows; ++row) {
        const double w = rows.weight_of(row), y = rows.target[row];
        if (w == 0) continue;
        const uint64_t key = uint64_t{static_cast<uint32_t>(first[row])} << 32 | static_cast<uint32_t>(second[row]);
        const size_t level = levels.number(key);
        LevelSums& sums = of_level[level];
        if (n_classes == 1) {
            const double error = y - sums.mean(priors[0], 1.0);
            loss += w * error * error;
        } else {
            const size_t k = static_cast<size_t>(y);
            double& cell = of_cell[cells.number(level * n_classes + k)];
            loss -= w * std::log((cell + priors[k]) / (sums.weight + 1.0));
            cell += w;
        }
        sums.add(w, y);
    }
    return loss;
}

}  // namespace

void ordered_losses(std::span<const int32_t* const> columns, std::span<const int32_t> pairs, const WeightedTarget& rows,
                    std::span<const double> priors, int threads, double* out) {
    parallel_for(static_cast<int64_t>(pairs.size()) / 2, threads, [&](int64_t i, int) {
        out[i] = ordered_loss(columns[pairs[2 * i]], columns[pairs[2 * i + 1]], rows, priors);
    });
}

}  // namespace arboretum
