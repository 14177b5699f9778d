// Which rows a tree sees, and what multiplies their gradients: chosen by a hash of (key, row), so that the choice is
// the same for any number of threads.
//
// "The k smallest" are found by two histograms, of the high and the low 16 bits of ranks, in place of a sort:
//
//   ranks     9 2 7 2 5 2 8      k = 2
//   limit     rank 2, n_equal 2, n_at 3      every rank below is taken, and the first n_equal of those at it
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "buffer.hpp"
#include "losses.hpp"
#include "parallel.hpp"
#include "rng.hpp"
#include "simd.hpp"
#include "types.hpp"

namespace arboretum {

constexpr int64_t sample_block = 65536, draw_chunk = 1024;

struct RowSample {
    std::vector<Row> rows;       // rising
    std::vector<double> factor;  // of each
};

// Draws of rows first, first + 1, …: in chunks, because then they vectorise.
ARBORETUM_CLONES inline void draw_rows(uint64_t key, int64_t first, int64_t n, uint64_t* draws) {
    for (int64_t i = 0; i < n; ++i) draws[i] = draw(key, static_cast<uint64_t>(first + i));
}

// run(first, n, draws) for chunks of rows.
template <class Run>
void for_each_draw(int64_t n_rows, uint64_t key, int threads, Run&& run) {
    parallel_blocks(n_rows, sample_block, threads, [&](int64_t begin, int64_t end, int) {
        uint64_t draws[draw_chunk];
        for (int64_t first = begin; first < end; first += draw_chunk) {
            int64_t n = std::min(draw_chunk, end - first);
            draw_rows(key, first, n, draws);
            run(first, n, draws);
        }
    });
}

// Rows for which is_chosen(row), rising.
template <class IsChosen>
std::vector<Row> collect_rows(int64_t n_rows, int threads, IsChosen&& is_chosen) {
    std::vector<std::vector<Row>> blocks((n_rows + sample_block - 1) / sample_block);
    parallel_blocks(n_rows, sample_block, threads, [&](int64_t begin, int64_t end, int) {
        Row chosen[draw_chunk];
        for (int64_t first = begin; first < end; first += draw_chunk) {
            size_t n = 0;
            for (int64_t row = first; row < std::min(end, first + draw_chunk); ++row) {
                chosen[n] = static_cast<Row>(row);
                n += is_chosen(row);
            }
            std::vector<Row>& rows = blocks[begin / sample_block];
            rows.insert(rows.end(), chosen, chosen + n);
        }
    });
    std::vector<Row> all;
    for (const std::vector<Row>& rows : blocks) all.insert(all.end(), rows.begin(), rows.end());
    return all;
}

// Rows for which is_chosen(row, draw), rising.
template <class IsChosen>
std::vector<Row> collect_drawn(int64_t n_rows, uint64_t key, int threads, IsChosen&& is_chosen) {
    Buffer buffer;
    auto* chosen = buffer.get<uint8_t>(n_rows);
    for_each_draw(n_rows, key, threads, [&](int64_t first, int64_t n, const uint64_t* draws) {
        for (int64_t i = 0; i < n; ++i) chosen[first + i] = is_chosen(first + i, draws[i]);
    });
    return collect_rows(n_rows, threads, [&](int64_t row) { return chosen[row]; });
}

template <class FactorOf>
RowSample with_factors(std::vector<Row> rows, int threads, FactorOf&& factor_of) {
    RowSample sample{std::move(rows), {}};
    auto n_rows = static_cast<int64_t>(sample.rows.size());
    sample.factor.resize(n_rows);
    parallel_blocks(n_rows, sample_block, threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) sample.factor[i] = factor_of(sample.rows[i]);
    });
    return sample;
}

// Sums in fixed blocks of rows, each in lanes that vectorise, then in order.
template <class Value>
double sum_rows(int64_t n_rows, int threads, Value&& value) {
    constexpr int n_lanes = 8;
    std::vector<double> blocks((n_rows + sample_block - 1) / sample_block, 0.0);
    parallel_blocks(n_rows, sample_block, threads, [&](int64_t begin, int64_t end, int) {
        double lanes[n_lanes] = {};
        int64_t row = begin;
        for (; row + n_lanes <= end; row += n_lanes)
            for (int k = 0; k < n_lanes; ++k) lanes[k] += value(row + k);
        for (; row < end; ++row) lanes[0] += value(row);
        for (double lane : lanes) blocks[begin / sample_block] += lane;
    });
    double total = 0;
    for (double block : blocks) total += block;
    return total;
}

// ---- a share of the rows --------------------------------------------------------------------------------------------

// Rows whose draw falls below `share`. Never empty: if no draw does, the row with the smallest one.
inline std::vector<Row> subsample_rows(int64_t n_rows, double share, uint64_t key, int threads) {
    uint64_t limit = static_cast<uint64_t>(share * 0x1p63) * 2;
    std::vector<Row> rows = collect_drawn(n_rows, key, threads, [&](int64_t, uint64_t bits) { return bits < limit; });
    if (rows.empty() && n_rows > 0) {
        Row best = 0;
        for (int64_t row = 1; row < n_rows; ++row)
            if (draw(key, row) < draw(key, best)) best = static_cast<Row>(row);
        rows.push_back(best);
    }
    return rows;
}

// Draws with replacement; copies of a row are its factor.
inline RowSample bootstrap_rows(int64_t n_rows, int64_t n_draws, uint64_t key, int threads) {
    std::vector<std::atomic<uint32_t>> copies(n_rows);
    for_each_draw(n_draws, key, threads, [&](int64_t, int64_t n, const uint64_t* draws) {
        for (int64_t i = 0; i < n; ++i) {
            auto row = static_cast<int64_t>(unit(draws[i]) * static_cast<double>(n_rows));
            copies[std::min(row, n_rows - 1)].fetch_add(1, std::memory_order_relaxed);
        }
    });
    auto copies_of = [&](int64_t row) { return copies[row].load(std::memory_order_relaxed); };
    return with_factors(collect_rows(n_rows, threads, [&](int64_t row) { return copies_of(row) > 0; }), threads,
                        copies_of);
}

// ---- the k smallest -------------------------------------------------------------------------------------------------

struct Limit {
    uint32_t rank;
    int64_t n_equal, n_at;  // taken of those at the limit, and how many there are
};

// Counts digit_of(rank) of the ranks that is_counted.
template <class IsCounted, class DigitOf>
std::vector<int64_t> count_digits(const uint32_t* ranks, int64_t n, int threads, IsCounted is_counted,
                                  DigitOf digit_of) {
    constexpr size_t n_digits = 65536;
    std::vector<std::vector<uint32_t>> partial(std::clamp(threads, 1, ThreadPool::max_threads));
    parallel_blocks(n, sample_block, threads, [&](int64_t begin, int64_t end, int worker) {
        partial[worker].resize(n_digits);
        uint32_t* counts = partial[worker].data();
        for (int64_t i = begin; i < end; ++i)
            if (is_counted(ranks[i])) ++counts[digit_of(ranks[i])];
    });
    std::vector<int64_t> total(n_digits, 0);
    for (const std::vector<uint32_t>& counts : partial)
        for (size_t i = 0; i < counts.size(); ++i) total[i] += counts[i];
    return total;
}

// 1 <= k <= n.
inline Limit limit_of_smallest(const uint32_t* ranks, int64_t n, int64_t k, int threads) {
    auto next_digit = [&](const std::vector<int64_t>& counts) {
        uint32_t digit = 0;
        while (counts[digit] < k) k -= counts[digit++];
        return digit;
    };
    auto high_of = [](uint32_t rank) { return rank >> 16; };
    uint32_t high = next_digit(count_digits(ranks, n, threads, [](uint32_t) { return true; }, high_of));
    auto is_at_high = [high](uint32_t rank) { return rank >> 16 == high; };
    std::vector<int64_t> counts =
        count_digits(ranks, n, threads, is_at_high, [](uint32_t rank) { return rank & 0xffffu; });
    uint32_t low = next_digit(counts);
    return {high << 16 | low, k, counts[low]};
}

// Positions of the k smallest ranks, 0 <= k <= n, rising; of equal ones the first.
inline std::vector<Row> smallest(const uint32_t* ranks, int64_t n, int64_t k, int threads) {
    if (k <= 0) return {};
    Limit limit = limit_of_smallest(ranks, n, k, threads);
    int64_t last = limit.n_equal < limit.n_at ? -1 : n;
    for (int64_t found = 0; last < n && found < limit.n_equal; ++last) found += ranks[last + 1] == limit.rank;
    return collect_rows(n, threads,
                        [&](int64_t i) { return (ranks[i] < limit.rank) | ((ranks[i] == limit.rank) & (i <= last)); });
}

constexpr uint32_t rank_of(uint64_t bits) { return static_cast<uint32_t>(bits >> 32); }

template <class RankAt>
void fill_ranks(int64_t n, int threads, uint32_t* ranks, RankAt&& rank_at) {
    parallel_blocks(n, sample_block, threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) ranks[i] = rank_at(i);
    });
}

// ---- strata ---------------------------------------------------------------------------------------------------------

// wanted[s] rows of stratum s, which owns rows[start[s] : start[s+1]], rising.
inline std::vector<Row> stratified_rows(const Row* rows, const int64_t* start, const int64_t* wanted, int64_t n_strata,
                                        uint64_t key, int threads) {
    int64_t n_rows = start[n_strata];
    std::vector<uint8_t> chosen(n_rows, 0);
    Buffer buffer;
    auto* ranks = buffer.get<uint32_t>(n_rows);
    fill_ranks(n_rows, threads, ranks, [&](int64_t i) { return rank_of(draw(key, rows[i])); });
    for (int64_t s = 0; s < n_strata; ++s)
        for (Row i : smallest(ranks + start[s], start[s + 1] - start[s], wanted[s], threads))
            chosen[rows[start[s] + i]] = 1;
    return collect_rows(n_rows, threads, [&](int64_t row) { return chosen[row]; });
}

// ---- gradient-based one-side sampling (Ke et al. 2017) --------------------------------------------------------------

// Ranks that rise as Σ |gradient| over the outputs, in float, falls. NaN, from a fit that diverges, comes before all.
template <class Real>
void fill_gradient_ranks(const Real* gradients, int64_t n_outputs, int64_t n_rows, int threads, uint32_t* ranks) {
    parallel_blocks(n_rows, draw_chunk, threads, [=](int64_t begin, int64_t end, int) {
        double sizes[draw_chunk] = {};
        for (int64_t k = 0; k < n_outputs; ++k)
            for (int64_t row = begin; row < end; ++row)
                sizes[row - begin] += std::abs(double{gradients[k * n_rows + row]});
        for (int64_t row = begin; row < end; ++row)
            ranks[row] = ~std::bit_cast<uint32_t>(static_cast<float>(sizes[row - begin]));
    });
}

constexpr uint32_t top_rank = 0;  // below all others: those of gradients have the highest bit, those of draws are >= 1

// Of the rows at the limit, those with the smallest draws are of the top.
inline void break_ties(const Limit& limit, int64_t n_rows, uint64_t key, int threads, uint32_t* ranks) {
    std::vector<Row> ties = collect_rows(n_rows, threads, [&](int64_t row) { return ranks[row] == limit.rank; });
    std::vector<uint32_t> draws(ties.size());
    fill_ranks(limit.n_at, threads, draws.data(), [&](int64_t i) { return rank_of(draw(key, ties[i])); });
    for (Row i : smallest(draws.data(), limit.n_at, limit.n_equal, threads)) ranks[ties[i]] = top_rank;
}

// Ranks below the limit are of the top, all others become draws.
ARBORETUM_CLONES inline void rank_rest(const uint64_t* draws, int64_t n, uint32_t limit, uint32_t* ranks) {
    for (int64_t i = 0; i < n; ++i) {
        uint32_t rank = std::max(rank_of(draws[i]), 1u);
        ranks[i] = ranks[i] < limit ? top_rank : rank;
    }
}

// The n_top rows of largest gradients, equal ones by their draws, and n_other of the rest, which stand for all of it.
template <class Real>
RowSample goss_rows(const Real* gradients, int64_t n_outputs, int64_t n_rows, int64_t n_top, int64_t n_other,
                    uint64_t key, int threads) {
    Buffer buffer;
    auto* ranks = buffer.get<uint32_t>(n_rows);
    fill_gradient_ranks(gradients, n_outputs, n_rows, threads, ranks);
    uint32_t limit_rank = 0;
    if (n_top > 0) {
        Limit limit = limit_of_smallest(ranks, n_rows, n_top, threads);
        bool all = limit.n_equal == limit.n_at;
        if (!all) break_ties(limit, n_rows, draw(key, 1), threads, ranks);
        limit_rank = limit.rank + all;
    }
    for_each_draw(n_rows, draw(key, 2), threads, [=](int64_t first, int64_t n, const uint64_t* draws) {
        rank_rest(draws, n, limit_rank, ranks + first);
    });
    double amplified = static_cast<double>(n_rows - n_top) / static_cast<double>(n_other);
    return with_factors(smallest(ranks, n_rows, n_top + n_other, threads), threads,
                        [&](Row row) { return ranks[row] == top_rank ? 1.0 : amplified; });
}

// ---- minimal variance sampling (Ibragimov, Gusev 2019) --------------------------------------------------------------

// μ with Σ min(1, size/μ) = expected. From μ = Σ size / expected down: rows of size >= μ are certain, the others share
// what is left; the certain ones only become more, so it ends.
inline double mvs_scale(const double* sizes, int64_t n_rows, double total, double expected, int threads) {
    double certain = 0, scale = total / expected;
    for (;;) {
        double n = sum_rows(n_rows, threads, [&](int64_t row) { return sizes[row] >= scale ? 1.0 : 0.0; });
        double rest = sum_rows(n_rows, threads, [&](int64_t row) { return sizes[row] >= scale ? 0.0 : sizes[row]; });
        if (n == certain || n >= expected || rest == 0) return scale;
        certain = n;
        scale = rest / (expected - n);
    }
}

// sizes[row] = √(Σ g² + λ h²) with √λ = Σ|g| / Σh over all rows and outputs, so that units do not matter and neither
// g / size nor h / size is large.
template <class Real>
void fill_mvs_sizes(const Real* gradients, const Real* hessians, int64_t n_outputs, int64_t n_rows, int threads,
                    double* sizes) {
    int64_t n = n_outputs * n_rows;
    double gradient = sum_rows(n, threads, [&](int64_t i) { return std::abs(double{gradients[i]}); });
    double hessian = sum_rows(n, threads, [&](int64_t i) { return double{hessians[i]}; });
    if (!std::isfinite(gradient * gradient) || !std::isfinite(hessian))
        throw std::overflow_error("gradients are not finite");
    double root = hessian > 0 ? gradient / hessian : 0;
    parallel_blocks(n_rows, draw_chunk, threads, [=](int64_t begin, int64_t end, int) {
        std::fill(sizes + begin, sizes + end, 0.0);
        for (int64_t k = 0; k < n_outputs; ++k)
            for (int64_t row = begin; row < end; ++row) {
                double g = gradients[k * n_rows + row], h = root * hessians[k * n_rows + row];
                sizes[row] += g * g + h * h;
            }
        for (int64_t row = begin; row < end; ++row) sizes[row] = std::sqrt(sizes[row]);
    });
}

// Without any gradient all rows are alike. Never empty: if no draw falls below its probability, the row whose draw is
// nearest to it.
template <class Real>
RowSample mvs_rows(const Real* gradients, const Real* hessians, int64_t n_outputs, int64_t n_rows, double share,
                   uint64_t key, int threads) {
    Buffer buffer;
    auto* sizes = buffer.get<double>(n_rows);
    fill_mvs_sizes(gradients, hessians, n_outputs, n_rows, threads, sizes);
    double total = sum_rows(n_rows, threads, [&](int64_t row) { return sizes[row]; });
    if (total == 0) {
        std::fill(sizes, sizes + n_rows, 1.0);
        total = static_cast<double>(n_rows);
    }
    double scale = mvs_scale(sizes, n_rows, total, share * static_cast<double>(n_rows), threads);
    auto probability = [&](int64_t row) { return std::min(1.0, sizes[row] / scale); };
    std::vector<Row> rows =
        collect_drawn(n_rows, key, threads, [&](int64_t row, uint64_t bits) { return unit(bits) < probability(row); });
    if (rows.empty()) {
        Row best = 0;
        double nearest = infinity;
        for (int64_t row = 0; row < n_rows; ++row) {
            double distance = sizes[row] > 0 ? unit(draw(key, row)) / probability(row) : infinity;
            if (distance < nearest) nearest = distance, best = static_cast<Row>(row);
        }
        rows.push_back(best);
    }
    return with_factors(std::move(rows), threads, [&](Row row) { return 1 / probability(row); });
}

// ---- Bayesian bootstrap (Rubin 1981) --------------------------------------------------------------------------------

// ln x for x > 0, the same bits on every processor: x = 2^k·m, √½ <= m < √2, ln m = 2·artanh((m − 1)/(m + 1)) by its
// series to degree 23 (remainder below 2^-60). Of 0 it is about −710.
[[gnu::always_inline]] inline double logarithm(double x) {
    constexpr uint64_t root_half = 0x3fe6a09e667f3bcdull;
    uint64_t bits = std::bit_cast<uint64_t>(x);
    int64_t k = static_cast<int64_t>(bits - root_half) >> 52;
    double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(k) << 52));
    double s = (m - 1) / (m + 1), t = s * s, p = 0;
    for (int degree = 23; degree >= 3; degree -= 2) p = p * t + 1.0 / degree;
    return static_cast<double>(k) * 0.69314718055994530942 + 2 * (s + s * t * p);
}

// (−ln u)^temperature, u uniform in (0, 1].
ARBORETUM_CLONES inline void fill_bayesian(const uint64_t* draws, int64_t n, double temperature, double* factor) {
    for (int64_t i = 0; i < n; ++i) {
        double waiting = -logarithm(1 - unit(draws[i]));
        factor[i] = temperature == 1 ? waiting : exponential(temperature * logarithm(waiting));
    }
}

inline void bayesian_factors(int64_t n_rows, double temperature, uint64_t key, int threads, double* factor) {
    for_each_draw(n_rows, key, threads, [&](int64_t first, int64_t n, const uint64_t* draws) {
        fill_bayesian(draws, n, temperature, factor + first);
    });
}

}  // namespace arboretum
