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

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "base/simd.hpp"
#include "base/types.hpp"

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

struct Wide {
    using Stat = WideSum;
    using Sum = WideSum;

    static Sum widen(const Stat& s) { return s; }
    static WideSum unpack(const Sum& s) { return s; }
};

// Facts about the statistics of one tree, summed in fixed blocks of rows and then in order.
struct LaneFacts {
    double positive = 0, negative = 0;  // Σ of positive gradients and of −negative ones
    double max_gradient = 0;
    double hessian = 0, max_hessian = 0, min_hessian = infinity;
    double hessian_fraction = 0;  // largest distance of a hessian from a whole number
    int64_t n_rows = 0;
    double median_gradient = 0, median_hessian = 0;  // of values that are not 0, in a sample

    void add(const LaneFacts& o) {
        positive += o.positive;
        negative += o.negative;
        hessian += o.hessian;
        max_gradient = std::max(max_gradient, o.max_gradient);
        max_hessian = std::max(max_hessian, o.max_hessian);
        min_hessian = std::min(min_hessian, o.min_hessian);
        hessian_fraction = std::max(hessian_fraction, o.hessian_fraction);
        n_rows += o.n_rows;
    }
};

constexpr int64_t fact_block = 16384;
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
    Real hessian_fraction[fact_lanes] = {};
    double positive[fact_lanes] = {}, negative[fact_lanes] = {}, hessian[fact_lanes] = {};

    FactLanes() { std::fill_n(min_hessian, fact_lanes, std::numeric_limits<Real>::infinity()); }

    [[gnu::always_inline]] void add(const Real* gradients, const Real* hessians, int64_t n) {
        for (int64_t i = 0; i + fact_lanes <= n; i += fact_lanes)
            for (int k = 0; k < fact_lanes; ++k) {
                Real g = gradients[i + k], h = hessians[i + k];
                Real up = g > 0 ? g : 0, down = g > 0 ? 0 : -g, size = up > down ? up : down;
                positive[k] += up;
                negative[k] += down;
                hessian[k] += h;
                max_gradient[k] = size > max_gradient[k] ? size : max_gradient[k];
                max_hessian[k] = h > max_hessian[k] ? h : max_hessian[k];
                min_hessian[k] = h < min_hessian[k] ? h : min_hessian[k];
                const Real fraction = fraction_of(h);
                hessian_fraction[k] = fraction > hessian_fraction[k] ? fraction : hessian_fraction[k];
            }
    }
};

// Rounds to the nearest integer by adding 1.5·2^52: the sum's low bits are the integer, in any instruction set.
[[gnu::always_inline]] inline uint64_t integer_bits(double x) {
    double shifted = x + 6755399441055744.0;
    uint64_t bits;
    std::memcpy(&bits, &shifted, 8);
    return bits;
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
    ARBORETUM_CLONES inline void quantise_rows(const Real* gradients, const Real* hessians, int64_t n,             \
                                               double gradient_scale, double hessian_scale, Layout::Stat* stats) { \
        quantise<Layout>(gradients, hessians, n, gradient_scale, hessian_scale, stats);                            \
    }
ARBORETUM_LANES(float, Short)
ARBORETUM_LANES(double, Packed)
#undef ARBORETUM_LANES

// Median of the values that are not 0, among some thousand rows chosen by a hash.
template <class Value>
double sampled_median(int64_t n, Value value) {
    constexpr int64_t size = 1024;
    std::vector<double> sample;
    for (int64_t i = 0; i < std::min(n, size); ++i) {
        double v =
            value(n <= size ? i : static_cast<int64_t>(draw(0x6d656469, i) % static_cast<uint64_t>(n)));  // "medi"
        if (v != 0) sample.push_back(v);
    }
    if (sample.empty()) return 0;
    std::nth_element(sample.begin(), sample.begin() + sample.size() / 2, sample.end());
    return sample[sample.size() / 2];
}

template <class Real>
LaneFacts block_facts(const Real* gradients, const Real* hessians, int64_t n) {
    FactLanes<Real> lanes;
    gather_facts(lanes, gradients, hessians, n);
    LaneFacts facts;
    for (int k = 0; k < fact_lanes; ++k)
        facts.add({lanes.positive[k], lanes.negative[k], lanes.max_gradient[k], lanes.hessian[k], lanes.max_hessian[k],
                   lanes.min_hessian[k], lanes.hessian_fraction[k], 0, 0, 0});
    for (int64_t i = n / fact_lanes * fact_lanes; i < n; ++i) {
        double g = gradients[i], h = hessians[i];
        facts.add({std::max(g, 0.0), std::max(-g, 0.0), std::abs(g), h, h, h, fraction_of(h), 0, 0, 0});
    }
    facts.n_rows = n;
    return facts;
}

template <class Real>
LaneFacts lane_facts(const Real* gradients, const Real* hessians, int64_t n, int threads) {
    std::vector<LaneFacts> blocks((n + fact_block - 1) / fact_block);
    parallel_blocks(n, fact_block, threads, [&](int64_t begin, int64_t end, int) {
        blocks[begin / fact_block] = block_facts(gradients + begin, hessians + begin, end - begin);
    });
    LaneFacts facts;
    for (const LaneFacts& block : blocks) facts.add(block);
    facts.median_gradient = sampled_median(n, [&](int64_t i) { return std::abs(double{gradients[i]}); });
    facts.median_hessian = sampled_median(n, [&](int64_t i) { return double{hessians[i]}; });
    return facts;
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

// The gain multiplies squares of gradient sums by hessian sums. Targets and weights are limited far below what would
// overflow there, so the fit has diverged.
inline void require_finite(const LaneFacts& facts) {
    double total = facts.positive + facts.negative;
    if (!(total * total * std::max(facts.hessian, 1.0) < 1e300)) throw std::overflow_error("gradients are not finite");
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
