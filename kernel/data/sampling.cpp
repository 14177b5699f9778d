#include "data/sampling.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/elementary.hpp"
#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "base/simd.hpp"

namespace arboretum {

namespace {

constexpr int64_t sample_block = 65536, join_block = 16384, draw_chunk = 1024;

// Draws of rows first, first + 1, …: in chunks, because then they vectorise.
ARBORETUM_CLONES void draw_rows(uint64_t key, int64_t first, int64_t n, uint64_t* draws) {
    for (int64_t i = 0; i < n; ++i) draws[i] = draw(key, static_cast<uint64_t>(first + i));
}

// run(first, n, draws) for chunks of rows [begin, end).
template <class Run>
void for_each_draw(int64_t begin, int64_t end, uint64_t key, Run&& run) {
    uint64_t draws[draw_chunk];
    for (int64_t first = begin; first < end; first += draw_chunk) {
        int64_t n = std::min(draw_chunk, end - first);
        draw_rows(key, first, n, draws);
        run(first, n, draws);
    }
}

// Items chosen from blocks of [0, n), one part per block.
template <class T>
struct Parts {
    std::vector<Items<T>> parts;

    // choose(begin, end, out) returns how many it wrote, at most end − begin. A thread writes all its blocks to the
    // same small scratch: fresh memory for [0, n) would cost more than the choice.
    template <class Choose>
    Parts(int64_t n, int threads, Choose&& choose) : parts((n + join_block - 1) / join_block) {
        std::vector<Items<T>> scratch(std::clamp(threads, 1, max_threads));
        parallel_blocks(n, join_block, threads, [&](int64_t begin, int64_t end, int worker) {
            if (scratch[worker].size == 0) scratch[worker] = Items<T>(join_block);
            const T* chosen = scratch[worker].begin();
            Items<T> part(choose(begin, end, scratch[worker].begin()));
            std::copy_n(chosen, part.size, part.begin());
            parts[begin / join_block] = std::move(part);
        });
    }

    Items<T> join(int threads) const {
        std::vector<int64_t> start(1, 0);
        for (const Items<T>& part : parts) start.push_back(start.back() + part.size);
        Items<T> joined(start.back());
        parallel_for(static_cast<int64_t>(parts.size()), threads,
                     [&](int64_t b, int) { std::copy(parts[b].begin(), parts[b].end(), joined.begin() + start[b]); });
        return joined;
    }
};

// Rows for which is_chosen(row), rising.
template <class IsChosen>
Items<Row> collect_rows(int64_t n_rows, int threads, IsChosen&& is_chosen) {
    Parts<Row> parts(n_rows, threads, [&](int64_t begin, int64_t end, Row* out) {
        int64_t count = 0;
        for (int64_t row = begin; row < end; ++row) {
            out[count] = static_cast<Row>(row);
            count += is_chosen(row);
        }
        return count;
    });
    return parts.join(threads);
}

// Rows for which is_chosen(row, draw), rising.
template <class IsChosen>
Items<Row> collect_drawn(int64_t n_rows, uint64_t key, int threads, IsChosen&& is_chosen) {
    Parts<Row> parts(n_rows, threads, [&](int64_t begin, int64_t end, Row* out) {
        Row* next = out;
        for_each_draw(begin, end, key, [&](int64_t first, int64_t n, const uint64_t* draws) {
            uint8_t chosen[draw_chunk];
            for (int64_t i = 0; i < n; ++i) chosen[i] = is_chosen(first + i, draws[i]);
            Row* at = next;  // a local: a reference would be stored at every step
            for (int64_t i = 0; i < n; ++i) {
                *at = static_cast<Row>(first + i);
                at += chosen[i];
            }
            next = at;
        });
        return next - out;
    });
    return parts.join(threads);
}

template <class FactorOf>
RowSample with_factors(Items<Row> rows, int threads, FactorOf&& factor_of) {
    Items<double> factor(rows.size);
    parallel_blocks(rows.size, sample_block, threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) factor[i] = factor_of(rows[i]);
    });
    return {std::move(rows), std::move(factor)};
}

Items<Row> only_row(Row row) {
    Items<Row> rows(1);
    rows[0] = row;
    return rows;
}

// N sums in one pass: in fixed blocks of rows, each in lanes that vectorise, then in order.
template <size_t N, class Values>
std::array<double, N> sum_rows(int64_t n_rows, int threads, Values&& values) {
    constexpr int n_lanes = 8;
    std::vector<std::array<double, N>> blocks((n_rows + sample_block - 1) / sample_block);
    parallel_blocks(n_rows, sample_block, threads, [&](int64_t begin, int64_t end, int) {
        double lanes[N][n_lanes] = {};
        auto add = [&](int64_t row, int lane) {
            const std::array<double, N> items = values(row);
            for (size_t s = 0; s < N; ++s) lanes[s][lane] += items[s];
        };
        int64_t row = begin;
        for (; row + n_lanes <= end; row += n_lanes)
            for (int k = 0; k < n_lanes; ++k) add(row + k, k);
        for (; row < end; ++row) add(row, 0);
        std::array<double, N>& block = blocks[begin / sample_block];
        for (size_t s = 0; s < N; ++s) block[s] = std::accumulate(lanes[s], lanes[s] + n_lanes, 0.0);
    });
    std::array<double, N> total{};
    for (const std::array<double, N>& block : blocks)
        for (size_t s = 0; s < N; ++s) total[s] += block[s];
    return total;
}

}  // namespace

// ---- a share of the rows --------------------------------------------------------------------------------------------

Items<Row> subsample_rows(int64_t n_rows, double share, uint64_t key, int threads) {
    uint64_t limit = static_cast<uint64_t>(share * 0x1p63) * 2;
    Items<Row> rows = collect_drawn(n_rows, key, threads, [&](int64_t, uint64_t bits) { return bits < limit; });
    if (rows.size > 0 || n_rows == 0) return rows;
    Row best = 0;
    for (int64_t row = 1; row < n_rows; ++row)
        if (draw(key, row) < draw(key, best)) best = static_cast<Row>(row);
    return only_row(best);
}

RowSample bootstrap_rows(int64_t n_rows, int64_t n_draws, uint64_t key, int threads, int64_t first, int64_t total) {
    std::vector<std::atomic<uint32_t>> copies(n_rows);
    auto draw_copies = [&](int64_t, int64_t n, const uint64_t* draws) {
        for (int64_t i = 0; i < n; ++i) {
            auto row = static_cast<int64_t>(unit(draws[i]) * static_cast<double>(total));
            row = std::min(row, total - 1) - first;
            if (row >= 0 && row < n_rows) copies[row].fetch_add(1, std::memory_order_relaxed);
        }
    };
    parallel_blocks(n_draws, sample_block, threads,
                    [&](int64_t begin, int64_t end, int) { for_each_draw(begin, end, key, draw_copies); });
    auto copies_of = [&](int64_t row) { return copies[row].load(std::memory_order_relaxed); };
    return with_factors(collect_rows(n_rows, threads, [&](int64_t row) { return copies_of(row) > 0; }), threads,
                        copies_of);
}

// ---- the k smallest -------------------------------------------------------------------------------------------------
//
// Ranks are computed where they are needed, by fill(first, n, out) for those of [first, first + n): repeating that is
// faster than keeping them in memory.

namespace {

struct Limit {
    uint32_t rank;
    int64_t n_equal, n_at;  // taken of those at the limit, and how many there are
};

// A rank and, in the lower half, whose it is: one word, one store.
using Ranked = uint64_t;

constexpr Ranked ranked(uint32_t rank, int64_t place) { return Ranked{rank} << 32 | static_cast<uint32_t>(place); }
constexpr uint32_t rank_of(uint64_t bits) { return static_cast<uint32_t>(bits >> 32); }  // also of a draw
constexpr Row place_of(Ranked item) { return static_cast<Row>(item); }

// A rank has three digits, of 14, 9 and 9 bits: few ranks share the first, and their counts stay in near caches.
constexpr int high_shift = 18, middle_shift = 9;
constexpr uint32_t n_digits = 16384, digit_mask = 511;

// run(first, n, ranks) for chunks of [begin, end).
template <class Fill, class Run>
void for_each_ranks(int64_t begin, int64_t end, Fill&& fill, Run&& run) {
    uint32_t ranks[draw_chunk];
    for (int64_t first = begin; first < end; first += draw_chunk) {
        int64_t n = std::min(draw_chunk, end - first);
        fill(first, n, ranks);
        run(first, n, ranks);
    }
}

// How many of [0, n) have each digit_of(rank).
template <class Fill, class DigitOf>
std::vector<int64_t> count_digits(int64_t n, int threads, Fill&& fill, DigitOf&& digit_of) {
    std::vector<std::vector<uint32_t>> partial(std::clamp(threads, 1, max_threads));
    parallel_blocks(n, join_block, threads, [&](int64_t begin, int64_t end, int worker) {
        partial[worker].resize(n_digits);
        uint32_t* counts = partial[worker].data();
        for_each_ranks(begin, end, fill, [&](int64_t, int64_t m, const uint32_t* ranks) {
            for (int64_t i = 0; i < m; ++i) ++counts[digit_of(ranks[i])];
        });
    });
    std::vector<int64_t> total(n_digits, 0);
    for (const std::vector<uint32_t>& counts : partial)
        for (size_t i = 0; i < counts.size(); ++i) total[i] += counts[i];
    return total;
}

// Those of [0, n) whose rank is_chosen, with their ranks, rising.
template <class Fill, class IsChosen>
Parts<Ranked> collect_parts(int64_t n, int threads, Fill&& fill, IsChosen&& is_chosen) {
    return Parts<Ranked>(n, threads, [&](int64_t begin, int64_t end, Ranked* out) {
        Ranked* next = out;
        for_each_ranks(begin, end, fill, [&](int64_t first, int64_t m, const uint32_t* ranks) {
            Ranked* at = next;  // a local: a reference would be stored at every step
            for (int64_t i = 0; i < m; ++i) {
                *at = ranked(ranks[i], first + i);
                at += is_chosen(ranks[i]);
            }
            next = at;
        });
        return next - out;
    });
}

template <class Fill, class IsChosen>
Items<Ranked> collect_ranked(int64_t n, int threads, Fill&& fill, IsChosen&& is_chosen) {
    return collect_parts(n, threads, fill, is_chosen).join(threads);
}

// The digit of the k-th smallest; k becomes its number among those with this digit.
uint32_t pass_digits(const std::vector<int64_t>& counts, int64_t& k) {
    uint32_t digit = 0;
    while (counts[digit] < k) k -= counts[digit++];
    return digit;
}

// Fill of what was collected.
auto ranks_of(const Items<Ranked>& items) {
    return [&items](int64_t first, int64_t n, uint32_t* out) {
        for (int64_t i = 0; i < n; ++i) out[i] = rank_of(items[first + i]);
    };
}

// 1 <= k <= n.
template <class Fill>
Limit limit_of_smallest(int64_t n, int64_t k, int threads, Fill&& fill) {
    auto high_of = [](uint32_t rank) { return rank >> high_shift; };
    uint32_t high = pass_digits(count_digits(n, threads, fill, high_of), k);
    Items<Ranked> alike = collect_ranked(n, threads, fill, [=](uint32_t rank) { return high_of(rank) == high; });
    auto middle_of = [](uint32_t rank) { return rank >> middle_shift & digit_mask; };
    uint32_t middle = pass_digits(count_digits(alike.size, threads, ranks_of(alike), middle_of), k);
    auto low_of = [=](uint32_t rank) {  // those with another middle digit come last
        return middle_of(rank) == middle ? rank & digit_mask : digit_mask + 1;
    };
    std::vector<int64_t> counts = count_digits(alike.size, threads, ranks_of(alike), low_of);
    uint32_t low = pass_digits(counts, k);
    return {high << high_shift | middle << middle_shift | low, k, counts[low]};
}

// The k smallest of [0, n), 0 <= k <= n, with their ranks, rising; of equal ones the first.
template <class Fill>
Items<Ranked> smallest(int64_t n, int64_t k, int threads, Fill&& fill) {
    if (k <= 0) return {};
    Limit limit = limit_of_smallest(n, k, threads, fill);
    Items<Ranked> chosen = collect_ranked(n, threads, fill, [=](uint32_t rank) { return rank <= limit.rank; });
    int64_t room = limit.n_equal;
    auto is_over = [&](Ranked item) { return rank_of(item) == limit.rank && room-- <= 0; };
    if (limit.n_equal < limit.n_at)
        chosen.size = std::remove_if(chosen.begin(), chosen.end(), is_over) - chosen.begin();
    return chosen;
}

// Fill of the draws of rows.
auto draws_of(const Row* rows, uint64_t key) {
    return [=](int64_t first, int64_t n, uint32_t* out) {
        for (int64_t i = 0; i < n; ++i) out[i] = rank_of(draw(key, rows[first + i]));
    };
}

}  // namespace

// ---- strata ---------------------------------------------------------------------------------------------------------

Items<Row> stratified_rows(const Row* rows, const int64_t* start, const int64_t* wanted, int64_t n_strata, uint64_t key,
                           int threads) {
    std::vector<uint8_t> chosen(start[n_strata], 0);
    for (int64_t s = 0; s < n_strata; ++s) {
        const Row* own = rows + start[s];
        for (Ranked item : smallest(start[s + 1] - start[s], wanted[s], threads, draws_of(own, key)))
            chosen[own[place_of(item)]] = 1;
    }
    return collect_rows(start[n_strata], threads, [&](int64_t row) { return chosen[row]; });
}

// ---- gradient-based one-side sampling (Ke et al. 2017) --------------------------------------------------------------

namespace {

// Ranks that rise as Σ |gradient| over the outputs, in float, falls. NaN, from a fit that diverges, comes before all.
template <class Real>
[[gnu::always_inline]] inline void rank_gradients_of(const Real* gradients, int64_t n_outputs, int64_t n_rows,
                                                     int64_t n, uint32_t* ranks) {
    if (std::is_same_v<Real, float> && n_outputs == 1) {  // no detour to double
        for (int64_t i = 0; i < n; ++i) ranks[i] = ~std::bit_cast<uint32_t>(static_cast<float>(std::abs(gradients[i])));
        return;
    }
    double sizes[draw_chunk];
    for (int64_t i = 0; i < n; ++i) sizes[i] = std::abs(double{gradients[i]});
    for (int64_t k = 1; k < n_outputs; ++k)
        for (int64_t i = 0; i < n; ++i) sizes[i] += std::abs(double{gradients[k * n_rows + i]});
    for (int64_t i = 0; i < n; ++i) ranks[i] = ~std::bit_cast<uint32_t>(static_cast<float>(sizes[i]));
}

// target_clones cannot be put on a template.
#define ARBORETUM_RANK(Real)                                                                                         \
    ARBORETUM_CLONES inline void rank_gradients(const Real* gradients, int64_t n_outputs, int64_t n_rows, int64_t n, \
                                                uint32_t* ranks) {                                                   \
        rank_gradients_of(gradients, n_outputs, n_rows, n, ranks);                                                   \
    }
ARBORETUM_RANK(float)
ARBORETUM_RANK(double)
#undef ARBORETUM_RANK

// Rows with ranks below a limit, and some of those at it.
struct Top {
    uint32_t below = 0;
    Items<Row> ties;  // rising
};

// The n_top smallest ranks; of equal ones those with the smallest draws.
template <class Fill>
Top find_top(int64_t n_rows, int64_t n_top, uint64_t key, int threads, Fill&& fill) {
    if (n_top == 0) return {};
    Limit limit = limit_of_smallest(n_rows, n_top, threads, fill);
    if (limit.n_equal == limit.n_at) return {limit.rank + 1, {}};
    auto is_at = [=](uint32_t rank) { return rank == limit.rank; };
    Items<Ranked> at = collect_ranked(n_rows, threads, fill, is_at);
    Items<Row> rows(at.size);
    std::transform(at.begin(), at.end(), rows.begin(), place_of);
    Items<Ranked> first = smallest(at.size, limit.n_equal, threads, draws_of(rows.begin(), key));
    Items<Row> ties(first.size);
    std::transform(first.begin(), first.end(), ties.begin(), [&](Ranked item) { return rows[place_of(item)]; });
    return {limit.rank, std::move(ties)};
}

constexpr uint32_t top_rank = 0;  // below all others: ranks of gradients have the highest bit, ranks of draws are >= 1

[[gnu::always_inline]] inline uint32_t rest_rank(uint64_t bits) { return std::max(rank_of(bits), 1u); }

// Ranks below the limit are of the top, all others become draws.
ARBORETUM_CLONES void rank_rest(const uint64_t* draws, int64_t n, uint32_t limit, uint32_t* ranks) {
    for (int64_t i = 0; i < n; ++i) {
        uint32_t rank = rest_rank(draws[i]);
        ranks[i] = ranks[i] < limit ? top_rank : rank;
    }
}

// Fill that turns ranks of gradients to top_rank and draws.
template <class Fill>
auto top_and_draws(const Top& top, uint64_t key, Fill& fill) {
    return [&top, &fill, key](int64_t first, int64_t n, uint32_t* out) {
        fill(first, n, out);
        const Row* tie = std::lower_bound(top.ties.begin(), top.ties.end(), static_cast<Row>(first));
        for (; tie != top.ties.end() && *tie < first + n; ++tie) out[*tie - first] = top_rank;
        uint64_t draws[draw_chunk];
        draw_rows(key, first, n, draws);
        rank_rest(draws, n, top.below, out);
    };
}

// Where the k-th smallest of n draws is likely to be: three deviations around k / n.
struct Window {
    uint32_t low, high;

    Window(int64_t n, int64_t k) {
        double share = static_cast<double>(k) / static_cast<double>(n);
        double spread = 3 * std::sqrt(share * (1 - share) / static_cast<double>(n));
        low = static_cast<uint32_t>(std::max(share - spread, 0.0) * 0xffffffffu);
        high = static_cast<uint32_t>(std::min(share + spread, 1.0) * 0xffffffffu);
    }
};

// The k-th smallest of parts that hold all items with ranks up to window.high; 0 if it is not in the window.
Ranked limit_in_window(const std::vector<Items<Ranked>>& parts, int64_t k, const Window& window, int threads) {
    std::vector<std::vector<Ranked>> open(parts.size());
    parallel_for(static_cast<int64_t>(parts.size()), threads, [&](int64_t b, int) {
        std::copy_if(parts[b].begin(), parts[b].end(), std::back_inserter(open[b]),
                     [&](Ranked item) { return rank_of(item) > window.low; });
    });
    std::vector<Ranked> all;
    for (size_t b = 0; b < parts.size(); ++b) {
        all.insert(all.end(), open[b].begin(), open[b].end());
        k -= parts[b].size - static_cast<int64_t>(open[b].size());
    }
    if (k <= 0 || k > static_cast<int64_t>(all.size())) return 0;
    std::nth_element(all.begin(), all.begin() + (k - 1), all.end());
    return all[k - 1];
}

// Items up to the limit, joined; items of the top have factor 1.
RowSample sample_up_to(Ranked limit, const std::vector<Items<Ranked>>& parts, double factor, int threads) {
    auto n_parts = static_cast<int64_t>(parts.size());
    std::vector<int64_t> start(parts.size() + 1, 0);
    auto is_chosen = [limit](Ranked item) { return item <= limit; };
    parallel_for(n_parts, threads,
                 [&](int64_t b, int) { start[b + 1] = std::count_if(parts[b].begin(), parts[b].end(), is_chosen); });
    for (int64_t b = 0; b < n_parts; ++b) start[b + 1] += start[b];
    RowSample sample{Items<Row>(start[n_parts]), Items<double>(start[n_parts])};
    parallel_for(n_parts, threads, [&](int64_t b, int) {
        Row* row = sample.rows.begin() + start[b];
        double* row_factor = sample.factor.begin() + start[b];
        for (Ranked item : parts[b]) {
            if (!is_chosen(item)) continue;
            *row++ = place_of(item);
            *row_factor++ = rank_of(item) == top_rank ? 1.0 : factor;
        }
    });
    return sample;
}

}  // namespace

template <class Real>
RowSample goss_rows(const Real* gradients, int64_t n_outputs, int64_t n_rows, int64_t n_top, int64_t n_other,
                    uint64_t key, int threads) {
    auto by_gradient = [=](int64_t first, int64_t n, uint32_t* out) {
        rank_gradients(gradients + first, n_outputs, n_rows, n, out);
    };
    Top top = find_top(n_rows, n_top, draw(key, 1), threads, by_gradient);
    auto fill = top_and_draws(top, draw(key, 2), by_gradient);
    auto up_to = [&](uint32_t bound) {
        return collect_parts(n_rows, threads, fill, [bound](uint32_t rank) { return rank <= bound; });
    };
    Window window(n_rows - n_top, n_other);
    Parts<Ranked> near = up_to(window.high);
    Ranked limit = limit_in_window(near.parts, n_top + n_other, window, threads);
    const double amplified = static_cast<double>(n_rows - n_top) / static_cast<double>(n_other);
    if (limit != 0) return sample_up_to(limit, near.parts, amplified, threads);
    Parts<Ranked> all = up_to(0xffffffffu);
    window.low = top_rank, window.high = 0xffffffffu;
    return sample_up_to(limit_in_window(all.parts, n_top + n_other, window, threads), all.parts, amplified, threads);
}

// ---- minimal variance sampling (Ibragimov, Gusev 2019) --------------------------------------------------------------

namespace {

// μ with Σ min(1, size/μ) = expected. From μ = Σ size / expected down: rows of size >= μ are certain, the others share
// what is left; the certain ones only become more, so it ends.
double mvs_scale(const double* sizes, int64_t n_rows, double total, double expected, int threads) {
    double certain = 0, scale = total / expected;
    for (;;) {
        auto [n, rest] = sum_rows<2>(n_rows, threads, [&](int64_t row) {
            return sizes[row] >= scale ? std::array{1.0, 0.0} : std::array{0.0, sizes[row]};
        });
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
    auto [gradient, hessian] = sum_rows<2>(n_outputs * n_rows, threads, [&](int64_t i) {
        return std::array{std::abs(double{gradients[i]}), double{hessians[i]}};
    });
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

}  // namespace

template <class Real>
RowSample mvs_rows(const Real* gradients, const Real* hessians, int64_t n_outputs, int64_t n_rows, double share,
                   uint64_t key, int threads) {
    Buffer buffer;
    auto* sizes = buffer.get<double>(n_rows);
    fill_mvs_sizes(gradients, hessians, n_outputs, n_rows, threads, sizes);
    auto [total] = sum_rows<1>(n_rows, threads, [&](int64_t row) { return std::array{sizes[row]}; });
    if (total == 0) {
        std::fill(sizes, sizes + n_rows, 1.0);
        total = static_cast<double>(n_rows);
    }
    double scale = mvs_scale(sizes, n_rows, total, share * static_cast<double>(n_rows), threads);
    auto probability = [&](int64_t row) { return std::min(1.0, sizes[row] / scale); };
    Items<Row> rows =
        collect_drawn(n_rows, key, threads, [&](int64_t row, uint64_t bits) { return unit(bits) < probability(row); });
    if (rows.size == 0) {
        Row best = 0;
        double nearest = infinity;
        for (int64_t row = 0; row < n_rows; ++row) {
            double distance = sizes[row] > 0 ? unit(draw(key, row)) / probability(row) : infinity;
            if (distance < nearest) nearest = distance, best = static_cast<Row>(row);
        }
        rows = only_row(best);
    }
    return with_factors(std::move(rows), threads, [&](Row row) { return 1 / probability(row); });
}

// ---- Bayesian bootstrap (Rubin 1981) --------------------------------------------------------------------------------

namespace {

// (−ln u)^temperature, u uniform in (0, 1].
ARBORETUM_CLONES void fill_bayesian(const uint64_t* draws, int64_t n, double temperature, double* factor) {
    for (int64_t i = 0; i < n; ++i) {
        double waiting = -logarithm(1 - unit(draws[i]));
        factor[i] = temperature == 1 ? waiting : exponential(temperature * logarithm(waiting));
    }
}

}  // namespace

void bayesian_factors(int64_t n_rows, double temperature, uint64_t key, int threads, int64_t first, double* factor) {
    auto fill = [=](int64_t row, int64_t n, const uint64_t* draws) {
        fill_bayesian(draws, n, temperature, factor + (row - first));
    };
    parallel_blocks(n_rows, sample_block, threads,
                    [&](int64_t begin, int64_t end, int) { for_each_draw(first + begin, first + end, key, fill); });
}

// ---- rows in several processes --------------------------------------------------------------------------------------

void fill_row_draws(int64_t n_rows, uint64_t key, int threads, int64_t first, uint64_t* out) {
    parallel_blocks(n_rows, sample_block, threads,
                    [=](int64_t begin, int64_t end, int) { draw_rows(key, first + begin, end - begin, out + begin); });
}

template <class Real>
void fill_goss_ranks(const Real* gradients, int64_t n_outputs, int64_t n_rows, uint64_t key, int threads, int64_t first,
                     uint64_t* top, uint32_t* rest) {
    auto by_gradient = [=](int64_t row, int64_t n, uint32_t* out) {
        rank_gradients(gradients + row, n_outputs, n_rows, n, out);
    };
    parallel_blocks(n_rows, sample_block, threads, [&](int64_t begin, int64_t end, int) {
        for_each_ranks(begin, end, by_gradient, [&](int64_t row, int64_t n, const uint32_t* ranks) {
            uint64_t draws[draw_chunk];
            draw_rows(draw(key, 1), first + row, n, draws);
            for (int64_t i = 0; i < n; ++i) top[row + i] = ranked(ranks[i], rank_of(draws[i]));
            draw_rows(draw(key, 2), first + row, n, draws);
            for (int64_t i = 0; i < n; ++i) rest[row + i] = rest_rank(draws[i]);
        });
    });
}

#define ARBORETUM_INSTANTIATE(Real)                                                                 \
    template RowSample goss_rows(const Real*, int64_t, int64_t, int64_t, int64_t, uint64_t, int);   \
    template RowSample mvs_rows(const Real*, const Real*, int64_t, int64_t, double, uint64_t, int); \
    template void fill_goss_ranks(const Real*, int64_t, int64_t, uint64_t, int, int64_t, uint64_t*, uint32_t*)
ARBORETUM_INSTANTIATE(float);
ARBORETUM_INSTANTIATE(double);
#undef ARBORETUM_INSTANTIATE

}  // namespace arboretum
