// Target statistics: a category as the mean target of training rows of the same level. The ordered mean of a row looks
// only at rows that come before it in a random order, so never at its own target (Prokhorenkova et al., CatBoost:
// unbiased boosting with categorical features, NeurIPS 2018, section 3).
//
//   order    4   1   3   0   2         ordered mean of a row =  Σ w t + a p    sums over earlier rows of its level;
//   level    b   a   b   b   a                                  ───────────    p: prior, a: its weight
//   target   1   0   0   1   1                                    Σ w + a
//   mean     p   p   │   │   │
//                    │   │   (0 + ap) / (1 + a)
//                    │   (1 + 0 + ap) / (2 + a)
//                    (1 + ap) / (1 + a)
//
// Every order and statistic is one chunk that adds in a fixed order: results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "base/types.hpp"

namespace arboretum {

void draw_orders(int64_t n_rows, std::span<const uint64_t> keys, int threads, Row* out);

// Category codes from −1 (missing, a level like any other) to radix − 2. All else is unknown.
struct CodeColumn {
    const int32_t* codes;
    int64_t radix;
};

// Codes as digits of one number of mixed radix, which must fit 63 bits; no_key if one of them is unknown.
void combined_keys(std::span<const CodeColumn> columns, int64_t n_rows, int threads, int64_t* out);

// Place of every key among the sorted keys of known levels: read off a table if one of their range pays, else searched.
void find_levels(std::span<const int64_t> keys, std::span<const int64_t> known, int threads, int32_t* out);

enum class TargetPart : int { equal, above, number };  // [y = at], [y > at], y

struct LevelColumn {
    const int32_t* levels;  // negative: unknown
    int64_t n_levels;
};

struct OrderedMean {
    int64_t source;  // whose levels
    TargetPart part;
    double at, prior, prior_weight;
    int64_t column;  // of the result
};

// Rows with a target and, unless null, a weight.
struct WeightedTarget {
    std::span<const double> target;
    const double* weight;

    double weight_of(int64_t row) const { return weight != nullptr ? weight[row] : 1.0; }
};

// Σ w and Σ w t of each level over rows that come before all of these: words of long sums (base/long_sums.hpp).
struct SumsBefore {
    const int64_t *weight, *value;
    int weight_power, value_power;
};

// out: orders × n_columns × rows; columns that no mean names are not written. before: one per mean, or none.
void ordered_means(std::span<const OrderedMean> means, std::span<const LevelColumn> sources, const WeightedTarget& rows,
                   std::span<const Row> orders, std::span<const SumsBefore> before, int64_t n_columns, int threads,
                   double* out);

void ordered_losses(std::span<const int32_t* const> columns, std::span<const int32_t> pairs, const WeightedTarget& rows,
                    std::span<const double> priors, int threads, double* out);

}  // namespace arboretum
