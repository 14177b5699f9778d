// Row statistics as integers, so that sums are exact and associative: the same bits for any number of threads.
//
//   short    a row: int16 gradient │ uint16 hessian          (4 bytes)  ┐ a sum: int32 gradient │ uint32 hessian
//   packed   a row: int32 gradient │ uint32 hessian          (8 bytes)  ┘ (8 bytes, one addition updates both)
//   wide     a row and a sum: int64 gradient, int64 hessian  (16 bytes)
//
// Scales of the first two are chosen so that no subset of the rows can overflow a sum's field: a sum of gradients is
// bounded by the larger of Σ positive and Σ |negative| ones, a sum of hessians by Σ h. `packed` serves tables of up to
// 65,536 rows, where a row keeps at least 16 bits; `short` larger ones, where the sums leave a row no more than that
// anyway, and half the bytes to move. When a typical value would keep too few steps (heavy tails, a few huge weights),
// `wide` is used. The choice depends only on the data.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/parallel.hpp"
#include "base/per_thread.hpp"
#include "base/rng.hpp"
#include "base/simd.hpp"
#include "base/types.hpp"
#include "base/whole_sums.hpp"
#include "grow/gradient/tree_sample.hpp"

namespace arboretum {

struct WideSum {
    int64_t gradient = 0;
    int64_t hessian = 0;

    WideSum& operator+=(const WideSum& o) {
        gradient += o.gradient, hessian += o.hessian;
        return *this;
    }
    WideSum& operator-=(const WideSum& o) {
        gradient -= o.gradient, hessian -= o.hessian;
        return *this;
    }
    friend WideSum operator+(WideSum a, const WideSum& b) { return a += b; }
    friend WideSum operator-(WideSum a, const WideSum& b) { return a -= b; }
    friend bool operator==(const WideSum& a, const WideSum& b) = default;
};

struct Packed {
    using Stat = uint64_t;
    using Sum = uint64_t;

    static Sum widen(Stat s) { return s; }
    static WideSum unpack(Sum s) { return {static_cast<int32_t>(s >> 32), static_cast<int64_t>(s & 0xffffffffu)}; }
    // bits: integers in the low bits of two's complement
    static Stat stat(uint64_t gradient_bits, uint64_t hessian_bits) {
        return gradient_bits << 32 | (hessian_bits & 0xffffffffu);
    }
};

struct Short : Packed {
    using Stat = uint32_t;

    static Sum widen(Stat s) {
        return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(s) >> 16)) << 32 | (s & 0xffffu);
    }
    static Stat stat(uint64_t gradient_bits, uint64_t hessian_bits) {
        return static_cast<uint32_t>(gradient_bits << 16 | (hessian_bits & 0xffffu));
    }
};

// The form of gradients that are kept in Real, unless they need wide lanes.
template <class Real>
using NarrowLayout = std::conditional_t<std::is_same_v<Real, float>, Short, Packed>;

struct Wide {
    using Stat = WideSum;
    using Sum = WideSum;

    static Sum widen(const Stat& s) { return s; }
    static WideSum unpack(const Sum& s) { return s; }
};

// Facts about the statistics of one tree. None depends on the order of the rows: sums are those of whole numbers, in
// units that the largest value decides.
struct LaneFacts {
    double max_gradient = 0;
    double max_hessian = 0, min_hessian = infinity;
    double hessian_fraction = 0;  // largest distance of a hessian from a whole number
    double spoiled = 0;           // not a number if a gradient or hessian is not finite
    int64_t n_rows = 0;
    // Σ of positive gradients, of −negative ones, and of hessians, and not below these
    double positive = 0, negative = 0, hessian = 0;
    double median_gradient = 0, median_hessian = 0;  // of values that are not 0, in a sample

    void join(const LaneFacts& o) {
        max_gradient = std::max(max_gradient, o.max_gradient);
        max_hessian = std::max(max_hessian, o.max_hessian);
        min_hessian = std::min(min_hessian, o.min_hessian);
        hessian_fraction = std::max(hessian_fraction, o.hessian_fraction);
        spoiled += o.spoiled;
        n_rows += o.n_rows;
    }
};

// Σ of whole numbers, modulo 2^64 as they are added up: sizes of gradients, of those above 0, and hessians.
struct LaneTotals {
    uint64_t gradient = 0, positive = 0, hessian = 0;

    void add(const LaneTotals& o) { gradient += o.gradient, positive += o.positive, hessian += o.hessian; }
};

// What makes whole numbers of gradients and hessians (base/whole_sums.hpp).
struct LaneUnits {
    double gradient = 1, hessian = 1;

    friend bool operator==(const LaneUnits& a, const LaneUnits& b) = default;
};

constexpr int64_t fact_block = 16384, fact_chunk = 2048;  // rows; a chunk stays in the nearest cache
constexpr int fact_lanes = 16;  // independent partial sums: the loop vectorises and its order is fixed

// Distance from the nearest whole number; too large for values without room for fractions, which are never asked about.
template <class Real>
[[gnu::always_inline]] inline Real fraction_of(Real x) {
    constexpr Real shift = sizeof(Real) == 8 ? Real(6755399441055744.0) : Real(12582912.0);  // 1.5 · 2^52, 1.5 · 2^23
    const Real whole = (x + shift) - shift;
    return x > whole ? x - whole : whole - x;
}

template <class Real>
struct FactLanes {
    Real max_gradient[fact_lanes] = {}, max_hessian[fact_lanes] = {}, min_hessian[fact_lanes];
    Real hessian_fraction[fact_lanes] = {}, spoiled[fact_lanes] = {};

    FactLanes() { std::fill_n(min_hessian, fact_lanes, std::numeric_limits<Real>::infinity()); }

    [[gnu::always_inline]] void add(const Real* gradients, const Real* hessians, int64_t n) {
        for (int64_t i = 0; i + fact_lanes <= n; i += fact_lanes)
            for (int k = 0; k < fact_lanes; ++k) {
                Real g = gradients[i + k], h = hessians[i + k];
                Real size = g > 0 ? g : -g;
                max_gradient[k] = size > max_gradient[k] ? size : max_gradient[k];
                max_hessian[k] = h > max_hessian[k] ? h : max_hessian[k];
                min_hessian[k] = h < min_hessian[k] ? h : min_hessian[k];
                const Real fraction = fraction_of(h);
                hessian_fraction[k] = fraction > hessian_fraction[k] ? fraction : hessian_fraction[k];
                spoiled[k] += g * 0 + h * 0;
            }
    }
};

template <class Real>
[[gnu::always_inline]] inline LaneTotals whole_totals(const Real* gradients, const Real* hessians, int64_t n,
                                                      const LaneUnits& units) {
    // |g| and g, whose sum is twice what is above 0: no choices, so that the loop vectorises.
    const double per_gradient = units.gradient, per_hessian = units.hessian;
    uint64_t size = 0, sum = 0, hessian = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double g = static_cast<double>(gradients[i]) * per_gradient;
        size += integer_bits(std::abs(g));
        sum += integer_bits(g);
        hessian += integer_bits(static_cast<double>(hessians[i]) * per_hessian);
    }
    const uint64_t shift = static_cast<uint64_t>(n) * std::bit_cast<uint64_t>(integer_shift);
    return {size - shift, (size + sum - 2 * shift) / 2, hessian - shift};
}

template <class Layout, class Real>
[[gnu::always_inline]] inline void quantise(const Real* gradients, const Real* hessians, int64_t n,
                                            double gradient_scale, double hessian_scale, typename Layout::Stat* stats) {
    for (int64_t i = 0; i < n; ++i)
        stats[i] = Layout::stat(integer_bits(gradients[i] * gradient_scale), integer_bits(hessians[i] * hessian_scale));
}

// target_clones cannot be put on a template: float rows (large tables) are short, double rows (small ones) packed.
#define ARBORETUM_LANES(Real, Layout)                                                                              \
    ARBORETUM_CLONES inline void gather_facts(FactLanes<Real>& lanes, const Real* gradients, const Real* hessians, \
                                              int64_t n) {                                                         \
        lanes.add(gradients, hessians, n);                                                                         \
    }                                                                                                              \
    ARBORETUM_CLONES inline LaneTotals total_rows(const Real* gradients, const Real* hessians, int64_t n,          \
                                                  const LaneUnits& units) {                                        \
        return whole_totals(gradients, hessians, n, units);                                                        \
    }                                                                                                              \
    ARBORETUM_CLONES inline void quantise_rows(const Real* gradients, const Real* hessians, int64_t n,             \
                                               double gradient_scale, double hessian_scale, Layout::Stat* stats) { \
        quantise<Layout>(gradients, hessians, n, gradient_scale, hessian_scale, stats);                            \
    }
ARBORETUM_LANES(float, Short)
ARBORETUM_LANES(double, Packed)
#undef ARBORETUM_LANES

// Rows of a table whose values stand for all when a median is wanted: rising, some thousand, chosen by a hash.
inline std::vector<Row> median_rows(int64_t n_rows) {
    constexpr int64_t size = 1024;
    std::vector<Row> rows(std::min(n_rows, size));
    for (int64_t i = 0; i < static_cast<int64_t>(rows.size()); ++i)
        rows[i] = static_cast<Row>(n_rows <= size ? i : draw(0x6d656469, i) % static_cast<uint64_t>(n_rows));  // "medi"
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
}

// Of the values that are not 0; reorders them.
inline double median_of(std::vector<double>& values) {
    std::erase(values, 0.0);
    if (values.empty()) return 0;
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

template <class Real>
LaneFacts block_facts(const Real* gradients, const Real* hessians, int64_t n) {
    FactLanes<Real> lanes;
    gather_facts(lanes, gradients, hessians, n);
    LaneFacts facts;
    for (int k = 0; k < fact_lanes; ++k)
        facts.join({lanes.max_gradient[k], lanes.max_hessian[k], lanes.min_hessian[k], lanes.hessian_fraction[k],
                    lanes.spoiled[k]});
    for (int64_t i = n / fact_lanes * fact_lanes; i < n; ++i) {
        double g = gradients[i], h = hessians[i];
        facts.join({std::abs(g), h, h, fraction_of(hessians[i]), g * 0 + h * 0});  // in Real, as in the lanes
    }
    facts.n_rows = n;
    return facts;
}

inline void put_sums(const LaneTotals& totals, const LaneUnits& units, LaneFacts& facts) {
    // Rows may have been rounded down by half a unit each: no sum may be below the true one.
    auto real = [&](uint64_t sum, double unit) {
        return static_cast<double>(static_cast<int64_t>(sum) + facts.n_rows / 2) / unit;
    };
    facts.positive = real(totals.positive, units.gradient);
    facts.negative = real(totals.gradient - totals.positive, units.gradient);
    facts.hessian = real(totals.hessian, units.hessian);
}

// The gain multiplies squares of gradient sums by hessian sums. Targets and weights are limited far below what would
// overflow there, so the fit has diverged.
inline void require_finite(const LaneFacts& facts) {
    double total = facts.positive + facts.negative + facts.spoiled;
    if (!(total * total * std::max(facts.hessian, 1.0) < 1e300)) throw std::overflow_error("gradients are not finite");
}

// Throws if a gradient or hessian is not finite.
inline LaneUnits units_of(const LaneFacts& facts) {
    constexpr int step = 4;
    require_finite(facts);
    return {whole_unit(facts.max_gradient, facts.n_rows, step), whole_unit(facts.max_hessian, facts.n_rows, step)};
}

template <class Real>
LaneTotals lane_totals(const TreeSample<Real>& sample, const LaneUnits& units, int threads) {
    PerThread<LaneTotals> parts(threads);
    parallel_blocks(sample.n_rows, fact_block, threads, [&](int64_t begin, int64_t end, int worker) {
        parts[worker].add(total_rows(sample.gradients + begin, sample.hessians + begin, end - begin, units));
    });
    LaneTotals totals;
    for (const LaneTotals& part : parts) totals.add(part);
    return totals;
}

// What one pass over gradients and hessians tells; that of all rows is the join of those of any parts.
struct LaneMeasure {
    LaneFacts facts;
    LaneTotals totals;

    void join(const LaneMeasure& o) {
        facts.join(o.facts);
        totals.add(o.totals);
    }
};

template <class Real>
LaneMeasure measure_lanes(const TreeSample<Real>& sample, const LaneUnits& units, int threads) {
    const Real *gradients = sample.gradients, *hessians = sample.hessians;
    PerThread<LaneMeasure> parts(threads);
    parallel_blocks(sample.n_rows, fact_block, threads, [&](int64_t begin, int64_t end, int worker) {
        for (int64_t first = begin; first < end; first += fact_chunk) {
            const int64_t size = std::min(fact_chunk, end - first);
            parts[worker].join({block_facts(gradients + first, hessians + first, size),
                                total_rows(gradients + first, hessians + first, size, units)});
        }
    });
    LaneMeasure measure;
    for (const LaneMeasure& part : parts) measure.join(part);
    return measure;
}

// Sizes of gradients, and hessians, of the rows that stand for all when a median is wanted, in any order.
struct MedianValues {
    std::vector<double> gradients, hessians;
};

// pool: median_rows of the table.
template <class Real>
MedianValues median_values(const TreeSample<Real>& sample, const std::vector<Row>& pool) {
    MedianValues values;
    const Row* next = sample.rows;
    for (Row row : pool) {
        int64_t i = row;
        if (sample.rows != nullptr) {
            next = std::lower_bound(next, sample.rows + sample.n_rows, row);
            i = next - sample.rows;
            if (i == sample.n_rows) break;
            if (*next != row) continue;
        }
        values.gradients.push_back(std::abs(double{sample.gradients[i]}));
        values.hessians.push_back(double{sample.hessians[i]});
    }
    return values;
}

// units: those of the totals, which must be units_of the facts.
inline LaneFacts complete_facts(const LaneMeasure& measure, const LaneUnits& units, MedianValues values) {
    LaneFacts facts = measure.facts;
    put_sums(measure.totals, units, facts);
    require_finite(facts);
    facts.median_gradient = median_of(values.gradients);
    facts.median_hessian = facts.min_hessian == facts.max_hessian ? facts.max_hessian : median_of(values.hessians);
    return facts;
}

// units: those of the last tree, which mostly suit this one, so that one pass is enough; the facts do not depend on
// them. pool: median_rows of the table.
template <class Real>
LaneFacts lane_facts(const TreeSample<Real>& sample, const std::vector<Row>& pool, LaneUnits& units, int threads) {
    LaneMeasure measure = measure_lanes(sample, units, threads);
    if (const LaneUnits right = units_of(measure.facts); right != units) {
        units = right;
        measure.totals = lane_totals(sample, units, threads);
    }
    return complete_facts(measure, units, median_values(sample, pool));
}

// value · scale = integer. `hessian_step`: the largest integer hessian of a row, so that rows >= sum / hessian_step.
struct LaneScale {
    bool packed = true;
    bool hessian_counts_rows = false;  // every row has hessian 1 (in integer units): the sum of hessians counts rows
    double gradient = 1, hessian = 1;
    int64_t hessian_step = 1;

    // The one way back to real units: sums that are equal as integers are equal here.
    double gradient_of(const WideSum& s) const { return static_cast<double>(s.gradient) * (1 / gradient); }
    double hessian_of(const WideSum& s) const { return static_cast<double>(s.hessian) * (1 / hessian); }
};

// Cuts whose gains are computed together: a vector of the widest kind.
constexpr int64_t cuts_at_once = 8;

// Packed sums to real units, vectorised.
ARBORETUM_CLONES inline void unpack_sums(const uint64_t* sums, int64_t n, double per_gradient, double per_hessian,
                                         double* gradient, double* hessian) {
    for (int64_t i = 0; i < n; ++i) {
        gradient[i] = static_cast<double>(static_cast<int32_t>(sums[i] >> 32)) * per_gradient;
        hessian[i] = static_cast<double>(static_cast<uint32_t>(sums[i])) * per_hessian;
    }
}

inline void unpack_sums(const WideSum* sums, int64_t n, double per_gradient, double per_hessian, double* gradient,
                        double* hessian) {
    for (int64_t i = 0; i < n; ++i) {
        gradient[i] = static_cast<double>(sums[i].gradient) * per_gradient;
        hessian[i] = static_cast<double>(sums[i].hessian) * per_hessian;
    }
}

// Whether every row has the same hessian, so that their sum, in units of it, counts rows. A subnormal hessian has no
// finite reciprocal.
inline bool hessians_count_rows(const LaneFacts& facts) {
    return facts.min_hessian == facts.max_hessian && facts.max_hessian > 0 && std::isfinite(1 / facts.max_hessian);
}

// Exact powers of two that leave room for n rows of the largest value in 62 bits.
inline LaneScale wide_scale(const LaneFacts& facts) {
    auto power = [&](double largest) {
        if (largest == 0) return 1.0;
        int room = 62 - std::ilogb(largest) - 1 - static_cast<int>(std::bit_width(static_cast<uint64_t>(facts.n_rows)));
        return std::ldexp(1.0, std::min(room, 1000));
    };
    LaneScale scale;
    scale.packed = false;
    scale.gradient = power(facts.max_gradient);
    scale.hessian = power(facts.max_hessian);
    scale.hessian_step = std::max<int64_t>(1, std::llrint(facts.max_hessian * scale.hessian));
    if (hessians_count_rows(facts)) {
        scale.hessian_counts_rows = true;
        scale.hessian = 1 / facts.max_hessian;
        scale.hessian_step = 1;
    }
    return scale;
}

// A typical row must keep at least this many integer steps, else the wide form is taken: the mean, and the median,
// which a few huge values cannot lift.
constexpr double least_mean_steps = 64, least_median_steps = 8;

inline double power_of_two_below(double x) { return std::isnormal(x) ? std::ldexp(1.0, std::ilogb(x)) : x; }

// largest_*: what a row's fields hold (short and packed rows differ). `whole`: whole gradients stay exact, at the price
// of up to a bit. Those of absolute errors are ±weight and tie all the time; rounding must not decide.
inline LaneScale choose_scale(const LaneFacts& facts, double largest_gradient, double largest_hessian, bool whole) {
    double n = static_cast<double>(facts.n_rows);
    double mean_gradient = (facts.positive + facts.negative) / n, mean_hessian = facts.hessian / n;
    bool constant = facts.min_hessian == facts.max_hessian;
    LaneScale scale;
    scale.hessian_counts_rows = hessians_count_rows(facts);
    if (facts.max_gradient > 0)
        scale.gradient = std::min((2147483647.0 - n) / std::max(facts.positive, facts.negative),
                                  largest_gradient / facts.max_gradient);
    if (whole) scale.gradient = power_of_two_below(scale.gradient);
    if (scale.hessian_counts_rows)
        scale.hessian = 1 / facts.max_hessian;
    else if (facts.max_hessian > 0)
        scale.hessian = std::min((4294967295.0 - n) / facts.hessian, largest_hessian / facts.max_hessian);
    // Whole weights stay exact: a sum that is exactly min_child_weight must not fall below it.
    if (!constant && facts.hessian_fraction == 0) scale.hessian = power_of_two_below(scale.hessian);
    auto fine = [](double mean, double median, double steps) {
        return mean * steps >= least_mean_steps && (median == 0 || median * steps >= least_median_steps);
    };
    bool fine_gradient = facts.max_gradient == 0 || fine(mean_gradient, facts.median_gradient, scale.gradient);
    bool fine_hessian = constant || fine(mean_hessian, facts.median_hessian, scale.hessian);
    bool fits = n < 1e9 && std::isfinite(scale.gradient) && std::isfinite(scale.hessian);
    if (!(fine_gradient && fine_hessian && fits)) return wide_scale(facts);
    scale.hessian_step = std::max<int64_t>(1, std::llrint(facts.max_hessian * scale.hessian));
    return scale;
}

inline LaneScale choose_scale(const LaneFacts& facts, float) { return choose_scale(facts, 32767, 65535, false); }
inline LaneScale choose_scale(const LaneFacts& facts, double) {
    return choose_scale(facts, 2147483647, 4294967295, true);
}

inline WideSum wide_stat(double gradient, double hessian, const LaneScale& wide) {
    return {std::llrint(gradient * wide.gradient), std::llrint(hessian * wide.hessian)};
}

}  // namespace arboretum
