// Row statistics as integers, so that sums are exact and associative: the same bits for any number of threads.
//
//   packed   a row: int16 gradient │ uint16 hessian          (4 bytes)
//            a sum: int32 gradient │ uint32 hessian          (8 bytes, one addition updates both)
//   wide     a row and a sum: int64 gradient, int64 hessian  (16 bytes)
//
// Packed scales are chosen so that no subset of the rows can overflow its field: a sum of gradients is bounded by the
// larger of Σ positive and Σ |negative| ones, a sum of hessians by Σ h. When 16 bits a row leave too little of a typical
// value (heavy tails, a few huge weights), the wide form is used. The choice depends on the data alone.
#pragma once

#include <cmath>
#include <cstring>

#include "parallel.hpp"
#include "simd.hpp"
#include "types.hpp"

namespace arboretum {

struct WideSum {
    int64_t gradient = 0;
    int64_t hessian = 0;

    WideSum& operator+=(const WideSum& o) { gradient += o.gradient, hessian += o.hessian; return *this; }
    WideSum& operator-=(const WideSum& o) { gradient -= o.gradient, hessian -= o.hessian; return *this; }
    friend WideSum operator+(WideSum a, const WideSum& b) { return a += b; }
    friend WideSum operator-(WideSum a, const WideSum& b) { return a -= b; }
    friend bool operator==(const WideSum& a, const WideSum& b) = default;
};

struct Packed {
    using Stat = uint32_t;
    using Sum = uint64_t;

    static Stat stat(int gradient, int hessian) {
        return static_cast<uint32_t>(gradient) << 16 | static_cast<uint32_t>(hessian);
    }
    static Sum widen(Stat s) {
        return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(s) >> 16)) << 32 | (s & 0xffffu);
    }
    static WideSum unpack(Sum s) {
        return {static_cast<int32_t>(s >> 32), static_cast<int64_t>(s & 0xffffffffu)};
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
    int64_t n_rows = 0;

    void add(const LaneFacts& o) {
        positive += o.positive;
        negative += o.negative;
        hessian += o.hessian;
        max_gradient = std::max(max_gradient, o.max_gradient);
        max_hessian = std::max(max_hessian, o.max_hessian);
        min_hessian = std::min(min_hessian, o.min_hessian);
        n_rows += o.n_rows;
    }
};

constexpr int64_t fact_block = 16384;
constexpr int fact_lanes = 16;  // independent partial sums: the loop vectorises and its order is fixed

ARBORETUM_CLONES inline void gather_facts(const float* gradients, const float* hessians, int64_t n, float* high,
                                          float* low, double* positive, double* negative, double* hessian) {
    for (int64_t i = 0; i + fact_lanes <= n; i += fact_lanes)
        for (int k = 0; k < fact_lanes; ++k) {
            float g = gradients[i + k], h = hessians[i + k];
            float up = g > 0 ? g : 0, down = g > 0 ? 0 : -g;
            positive[k] += up;
            negative[k] += down;
            hessian[k] += h;
            high[k] = std::max(high[k], std::max(up, down));
            high[fact_lanes + k] = std::max(high[fact_lanes + k], h);
            low[k] = std::min(low[k], h);
        }
}

inline LaneFacts block_facts(const float* gradients, const float* hessians, int64_t n) {
    float high[2 * fact_lanes] = {}, low[fact_lanes];
    std::fill_n(low, fact_lanes, std::numeric_limits<float>::infinity());
    double positive[fact_lanes] = {}, negative[fact_lanes] = {}, hessian[fact_lanes] = {};
    gather_facts(gradients, hessians, n, high, low, positive, negative, hessian);
    LaneFacts facts;
    for (int k = 0; k < fact_lanes; ++k)
        facts.add({positive[k], negative[k], high[k], hessian[k], high[fact_lanes + k], low[k], 0});
    for (int64_t i = n / fact_lanes * fact_lanes; i < n; ++i) {
        double g = gradients[i], h = hessians[i];
        facts.add({std::max(g, 0.0), std::max(-g, 0.0), std::abs(g), h, h, h, 0});
    }
    facts.n_rows = n;
    return facts;
}

inline LaneFacts lane_facts(const float* gradients, const float* hessians, int64_t n, int threads) {
    std::vector<LaneFacts> blocks((n + fact_block - 1) / fact_block);
    parallel_blocks(n, fact_block, threads, [&](int64_t begin, int64_t end, int) {
        blocks[begin / fact_block] = block_facts(gradients + begin, hessians + begin, end - begin);
    });
    LaneFacts facts;
    for (const LaneFacts& block : blocks) facts.add(block);
    return facts;
}

// value · scale = integer. `hessian_step`: the largest integer hessian of a row, so that rows >= sum / hessian_step.
struct LaneScale {
    bool packed = true;
    bool hessian_counts_rows = false;  // every row has hessian 1 (in integer units): the sum of hessians counts rows
    double gradient = 1, hessian = 1;
    int64_t hessian_step = 1;

    double gradient_of(const WideSum& s) const { return static_cast<double>(s.gradient) / gradient; }
    double hessian_of(const WideSum& s) const { return static_cast<double>(s.hessian) / hessian; }
};

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
    if (facts.min_hessian == facts.max_hessian && facts.max_hessian > 0) {
        scale.hessian_counts_rows = true;
        scale.hessian = 1 / facts.max_hessian;
        scale.hessian_step = 1;
    }
    return scale;
}

// A typical row must keep at least this many integer steps, else the wide form is taken.
constexpr double least_typical_steps = 64;

inline LaneScale choose_scale(const LaneFacts& facts) {
    double n = static_cast<double>(facts.n_rows);
    double mean_gradient = (facts.positive + facts.negative) / n, mean_hessian = facts.hessian / n;
    bool constant = facts.min_hessian == facts.max_hessian;
    LaneScale scale;
    scale.hessian_counts_rows = constant && facts.max_hessian > 0;
    if (facts.max_gradient > 0)
        scale.gradient = std::min((2147483647.0 - n) / std::max(facts.positive, facts.negative),
                                  32767.0 / facts.max_gradient);
    if (scale.hessian_counts_rows)
        scale.hessian = 1 / facts.max_hessian;
    else if (facts.max_hessian > 0)
        scale.hessian = std::min((4294967295.0 - n) / facts.hessian, 65535.0 / facts.max_hessian);
    scale.hessian_step = std::max<int64_t>(1, std::llrint(facts.max_hessian * scale.hessian));
    bool fine_gradient = mean_gradient * scale.gradient >= least_typical_steps || facts.max_gradient == 0;
    bool fine_hessian = constant || mean_hessian * scale.hessian >= least_typical_steps;
    bool fits = n < 1e9 && std::isfinite(scale.gradient) && std::isfinite(scale.hessian);
    return fine_gradient && fine_hessian && fits ? scale : wide_scale(facts);
}

// Rounds to the nearest integer by adding 1.5·2^52: the sum's low bits are the integer, in any instruction set.
ARBORETUM_CLONES inline void quantise_packed(const float* gradients, const float* hessians, int64_t n,
                                             double gradient_scale, double hessian_scale, uint32_t* stats) {
    constexpr double magic = 6755399441055744.0;
    for (int64_t i = 0; i < n; ++i) {
        double g = gradients[i] * gradient_scale + magic, h = hessians[i] * hessian_scale + magic;
        uint64_t g_bits, h_bits;
        std::memcpy(&g_bits, &g, 8);
        std::memcpy(&h_bits, &h, 8);
        stats[i] = static_cast<uint32_t>(g_bits) << 16 | (static_cast<uint32_t>(h_bits) & 0xffffu);
    }
}

inline WideSum wide_stat(float gradient, float hessian, const LaneScale& wide) {
    return {std::llrint(gradient * wide.gradient), std::llrint(hessian * wide.hessian)};
}

}  // namespace arboretum
