#include "losses/ranking.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/elementary.hpp"
#include "base/parallel.hpp"
#include "base/per_thread.hpp"
#include "base/rng.hpp"
#include "base/simd.hpp"

namespace arboretum {

namespace {

// 2^y − 1, exact for whole grades.
double gain_of(double y) {
    const int whole = static_cast<int>(y);
    const double power = static_cast<double>(int64_t{1} << whole), rest = y - whole;
    return (rest > 0 ? power * exponential(rest * 0.69314718055994530942) : power) - 1.0;
}

double binary_logarithm(double x) { return logarithm(x) * 1.4426950408889634074; }

std::vector<double> discounts(int64_t n) {
    std::vector<double> made(n);
    for (int64_t place = 0; place < n; ++place) made[place] = 1.0 / binary_logarithm(static_cast<double>(place + 2));
    return made;
}

constexpr int64_t query_block = 16;

// run(query, first row, rows, scratch) for every query; each worker has a scratch of its own.
template <class Scratch, class Run>
void for_each_query(const Queries& queries, int threads, Run&& run) {
    const int64_t longest = queries.longest();
    PerThread<Scratch> scratch(std::max(threads, 1));
    parallel_blocks(queries.n, query_block, threads, [&](int64_t begin, int64_t end, int worker) {
        scratch[worker].reserve(longest);
        for (int64_t q = begin; q < end; ++q)
            run(q, queries.start[q], queries.start[q + 1] - queries.start[q], scratch[worker]);
    });
}

}  // namespace

// ---- gradients of pairs ---------------------------------------------------------------------------------------------

namespace {

// Rows by falling score, of equals the earlier one first: a row's place is the number of those before it. For few rows
// that is quicker than sorting, whose branches nobody can predict.
constexpr int64_t most_counted = 192;

ARBORETUM_CLONES void sort_by_counting(const double* score, int64_t n, int32_t* row) {
    for (int64_t i = 0; i < n; ++i) {
        const double own = score[i];
        int64_t place = 0;
        for (int64_t j = 0; j < i; ++j) place += score[j] >= own;
        for (int64_t j = i + 1; j < n; ++j) place += score[j] > own;
        row[place] = static_cast<int32_t>(i);
    }
}

// Rows of a query by falling gain, those of equal gain by place. So all rows that are worse than one of them, and make
// pairs with it, stand together:
//
//   gain    7 3 3 1 0 0 0 0 · ·
//             a   └ worse ┘
//
// They are read in groups of `lanes`, the last of which may end behind them (·), where nothing counts.
constexpr int64_t lanes = 8;

struct GainOrder {
    std::vector<int32_t> at;      // place
    std::vector<double> present;  // 1; 0 behind the rows
    std::vector<double> score, gain, head, tail, place, gradient, hessian;
    int64_t n = 0;

    void reserve(int64_t most) {
        at.resize(most + 1);
        for (auto* part : {&present, &score, &gain, &head, &tail, &place, &gradient, &hessian})
            part->resize(most + lanes);
    }
};

constexpr int most_grades = 8;  // that are worth a pass each

// What is kept of the rows of a query, by place.
struct PairScratch {
    std::vector<int32_t> row;
    std::vector<double> score, gain, head, tail, gradient, hessian;
    GainOrder all, top;

    void reserve(int64_t n) {
        if (static_cast<int64_t>(row.size()) >= n) return;
        row.resize(n);
        for (auto* part : {&score, &gain, &head, &tail, &gradient, &hessian}) part->resize(n);
        all.reserve(n);
        top.reserve(n);
    }

    void sort(const double* raw, int64_t n) {
        if (n <= most_counted) {
            sort_by_counting(raw, n, row.data());
        } else {
            for (int64_t i = 0; i < n; ++i) row[i] = static_cast<int32_t>(i);
            std::sort(row.begin(), row.begin() + n,
                      [raw](int32_t a, int32_t b) { return raw[a] != raw[b] ? raw[a] > raw[b] : a < b; });
        }
        for (int64_t place = 0; place < n; ++place) score[place] = raw[row[place]];
        std::fill_n(gradient.begin(), n, 0.0);
        std::fill_n(hessian.begin(), n, 0.0);
    }

    // The places of all rows, or of those before the truncation. Grades are few: a pass for each, the highest first.
    void order_by_gain(GainOrder& order, int64_t n) const {
        int32_t *next = order.at.data(), *end = next + n;
        double above = std::numeric_limits<double>::infinity();
        for (int grades = 0; next != end && grades < most_grades; ++grades) {
            double highest = -1;
            for (int64_t place = 0; place < n; ++place) {
                const double here = gain[place] < above ? gain[place] : -1;
                highest = here > highest ? here : highest;
            }
            for (int64_t place = 0; place < n; ++place) {
                *next = static_cast<int32_t>(place);
                next += gain[place] == highest;
            }
            above = highest;
        }
        int32_t* rest = next;
        for (int64_t place = 0; next != end; ++place)
            if (gain[place] < above) *next++ = static_cast<int32_t>(place);
        std::sort(rest, end, [this](int32_t a, int32_t b) { return gain[a] != gain[b] ? gain[a] > gain[b] : a < b; });
        order.n = n;
    }

    void fill(GainOrder& order) const {
        for (int64_t i = 0; i < order.n; ++i) {
            const int32_t place = order.at[i];
            order.score[i] = score[place];
            order.gain[i] = gain[place];
            order.head[i] = head[place];
            order.tail[i] = tail[place];
            order.place[i] = place;
        }
        std::fill_n(order.present.begin(), order.n, 1.0);
        std::fill_n(order.present.begin() + order.n, lanes, 0.0);
        std::fill_n(order.gradient.begin(), order.n, 0.0);
        std::fill_n(order.hessian.begin(), order.n, 0.0);
    }

    void take(const GainOrder& order) {
        for (int64_t i = 0; i < order.n; ++i) {
            gradient[order.at[i]] += order.gradient[i];
            hessian[order.at[i]] += order.hessian[i];
        }
    }
};

// A better row a and a worse row b; one is at place i, the other behind it at place j:
//
//   x = score_a − score_b,   p = 1 / (1 + e^x),   loss = weight · ln(1 + e^−x)
//   weight = (gain_a − gain_b) · (head_i + tail_j) · scale / (nearness + slope · |x|)
struct PairRule {
    double graded, alike;  // 1 and 0; or 0 and 1, where any difference of gains counts 1
    double scale, nearness, slope;
};

// The pairs of the row at place a with the rows of `order` from `begin` on. Returns the sum of the sizes of their
// gradients; sums over pairs are those of `lanes` sums, in the same order in every instruction set.
ARBORETUM_CLONES double add_pairs(PairScratch& s, int64_t a, GainOrder& order, int64_t begin, const PairRule& rule) {
    const double *score = order.score.data(), *gain = order.gain.data(), *head = order.head.data();
    const double *tail = order.tail.data(), *place = order.place.data(), *present = order.present.data();
    double *gradient = order.gradient.data(), *hessian = order.hessian.data();
    const double own_score = s.score[a], own_gain = s.gain[a], own_head = s.head[a], own_tail = s.tail[a];
    const double own_place = static_cast<double>(a);
    const PairRule r = rule;
    double gradients[lanes] = {}, hessians[lanes] = {};
    for (int64_t first = begin; first < order.n; first += lanes) {
        double power[lanes];  // a loop of its own: compilers make branches of choices in long ones
        for (int64_t lane = 0; lane < lanes; ++lane) power[lane] = exponential(own_score - score[first + lane]);
        ARBORETUM_INDEPENDENT
        for (int64_t lane = 0; lane < lanes; ++lane) {
            const int64_t b = first + lane;
            const double gap = r.alike + r.graded * (own_gain - gain[b]);
            const double before = own_head + tail[b], behind = head[b] + own_tail;
            const double change = own_place < place[b] ? before : behind;
            const double distance = r.nearness + r.slope * std::fabs(own_score - score[b]);
            const double share = 1.0 / (distance * (1.0 + power[lane]));  // p / distance
            const double pair_gradient = share * (gap * change * r.scale * present[b]);
            const double pair_hessian = pair_gradient * (1.0 - share * distance);
            gradient[b] += pair_gradient;
            hessian[b] += pair_hessian;
            gradients[lane] += pair_gradient;
            hessians[lane] += pair_hessian;
        }
    }
    double size = 0, curvature = 0;
    for (int64_t lane = 0; lane < lanes; ++lane) {
        size += gradients[lane];
        curvature += hessians[lane];
    }
    s.gradient[a] -= size;
    s.hessian[a] += curvature;
    return size;
}

// All pairs with a row before the truncation; returns the sum of the sizes of their gradients.
double add_all_pairs(PairScratch& s, int64_t n, int64_t truncation, const PairRule& rule) {
    const int64_t n_top = std::min(n, truncation);
    s.fill(s.all);
    if (n_top < n) {
        s.order_by_gain(s.top, n_top);
        s.fill(s.top);
    }
    double size = 0;
    int64_t worse = 0, worse_on_top = 0;  // first row of less gain
    for (int64_t i = 0; i < n; ++i) {
        const int32_t place = s.all.at[i];
        const double gain = s.gain[place];
        while (worse < n && s.all.gain[worse] >= gain) ++worse;
        if (worse == n) break;
        if (place < n_top) {
            size += add_pairs(s, place, s.all, worse, rule);
        } else {
            while (worse_on_top < n_top && s.top.gain[worse_on_top] >= gain) ++worse_on_top;
            size += add_pairs(s, place, s.top, worse_on_top, rule);
        }
    }
    s.take(s.all);
    if (n_top < n) s.take(s.top);
    return size;
}

// What a swap of two places changes NDCG by; the ideal order is cut at the truncation. Discounts are 0 beyond the cut.
double weigh_by_ndcg(PairScratch& s, const double* y, int64_t n, int64_t truncation, const double* discount) {
    for (int64_t place = 0; place < n; ++place) {
        s.gain[place] = gain_of(y[s.row[place]]);
        s.head[place] = discount[place];
        s.tail[place] = -discount[place];
    }
    s.order_by_gain(s.all, n);
    double ideal = 0;
    for (int64_t i = 0; i < std::min(n, truncation); ++i) ideal += s.gain[s.all.at[i]] * discount[i];
    return ideal > 0 ? 1.0 / ideal : 0.0;
}

// What a swap of two places changes average precision by. With c(p) relevant rows up to p and B(p) the sum of
// 1 / (p' + 1) over the relevant p' <= p before the cut, for i before j:
//
//   (c(i) + [i not relevant]) / (i + 1) − B(i)  +  B(j) − (c(j) + [j relevant]) / (j + 1)        divided by c(n − 1)
//
// Beyond the cut k the fractions are 0, and c(n − 1) counts no more than k.
double weigh_by_map(PairScratch& s, const double* y, int64_t n, int64_t cut) {
    double count = 0, inverse_places = 0;
    for (int64_t place = 0; place < n; ++place) {
        const double relevant = y[s.row[place]] > 0 ? 1.0 : 0.0, at = static_cast<double>(place + 1);
        const bool counts = place < cut;
        count += relevant;
        if (counts) inverse_places += relevant / at;
        s.gain[place] = relevant;
        s.head[place] = (counts ? (count + 1.0 - relevant) / at : 0.0) - inverse_places;
        s.tail[place] = inverse_places - (counts ? (count + relevant) / at : 0.0);
    }
    s.order_by_gain(s.all, n);
    return count > 0 ? 1.0 / std::min(count, static_cast<double>(cut)) : 0.0;
}

// What a swap of two places changes the reciprocal rank by. With r(p) = 1 / (p + 1) before the cut, else 0, the first
// relevant row at f and the second at s, for i before j:
//
//   i not relevant, before f     r(i) − r(f)               j relevant         0
//   i not relevant, behind f     0                         j not relevant     −r(min(j, s))
//   i = f                        r(f)
//   i relevant, behind f         r(s)
double weigh_by_mrr(PairScratch& s, const double* y, int64_t n, int64_t cut) {
    int64_t found[2] = {n, n};
    for (int64_t place = n - 1; place >= 0; --place)
        if (y[s.row[place]] > 0) found[1] = found[0], found[0] = place;
    const auto reciprocal = [n, cut](int64_t place) {
        return place < std::min(n, cut) ? 1.0 / static_cast<double>(place + 1) : 0.0;
    };
    for (int64_t place = 0; place < n; ++place) {
        const bool relevant = y[s.row[place]] > 0;
        s.gain[place] = relevant ? 1.0 : 0.0;
        s.head[place] = relevant           ? reciprocal(found[place > found[0]])
                        : place < found[0] ? reciprocal(place) - reciprocal(found[0])
                                           : 0.0;
        s.tail[place] = relevant ? 0.0 : -reciprocal(std::min(place, found[1]));
    }
    s.order_by_gain(s.all, n);
    return 1.0;
}

double weigh_alike(PairScratch& s, const double* y, int64_t n) {
    for (int64_t place = 0; place < n; ++place) {
        s.gain[place] = y[s.row[place]];
        s.head[place] = 1.0;
        s.tail[place] = 0.0;
    }
    s.order_by_gain(s.all, n);
    return 1.0;
}

}  // namespace

void pair_gradients(const PairTask& task, int threads) {
    std::vector<double> discount =
        task.weight == PairWeight::ndcg ? discounts(task.queries.longest()) : std::vector<double>();
    for (int64_t place = task.cut; place < static_cast<int64_t>(discount.size()); ++place) discount[place] = 0;
    for_each_query<PairScratch>(task.queries, threads, [&](int64_t, int64_t first, int64_t n, PairScratch& s) {
        const double* y = task.y + first;
        if (std::all_of(y, y + n, [y](double other) { return other == y[0]; })) {
            std::fill_n(task.gradients + first, n, 0.0);
            std::fill_n(task.hessians + first, n, 0.0);
            return;
        }
        s.sort(task.raw + first, n);
        const double scale = task.weight == PairWeight::ndcg  ? weigh_by_ndcg(s, y, n, task.truncation, discount.data())
                             : task.weight == PairWeight::map ? weigh_by_map(s, y, n, task.cut)
                             : task.weight == PairWeight::mrr ? weigh_by_mrr(s, y, n, task.cut)
                                                              : weigh_alike(s, y, n);
        const bool graded = task.weight != PairWeight::none;
        const bool by_distance = graded && s.score[0] != s.score[n - 1];
        const PairRule rule{graded ? 1.0 : 0.0, graded ? 0.0 : 1.0, scale, by_distance ? 0.01 : 1.0,
                            by_distance ? 1.0 : 0.0};
        const double size = 2 * add_all_pairs(s, n, task.truncation, rule);
        const double factor = size > 0 ? binary_logarithm(1.0 + size) / size : 1.0;
        for (int64_t place = 0; place < n; ++place) {
            task.gradients[first + s.row[place]] = factor * s.gradient[place];
            task.hessians[first + s.row[place]] = factor * s.hessian[place];
        }
    });
}

// ---- gradients of drawn orders --------------------------------------------------------------------------------------

namespace {

constexpr double place_decay = 0.85;  // what a place counts beside the one before it

struct DrawnScratch {
    std::vector<double> score;
    std::vector<int32_t> row;

    void reserve(int64_t n) {
        score.resize(n);
        row.resize(n);
    }

    // Rows by raw + ln(u / (1 − u)), u uniform, the highest first.
    void order(const double* raw, int64_t n, uint64_t key) {
        for (int64_t i = 0; i < n; ++i) {
            const double u = unit(draw(key, i));
            score[i] = raw[i] + logarithm(u / (1.0 - u));
            row[i] = static_cast<int32_t>(i);
        }
        std::sort(row.begin(), row.begin() + n,
                  [this](int32_t a, int32_t b) { return score[a] != score[b] ? score[a] > score[b] : a < b; });
    }
};

}  // namespace

// With neighbours a, the better, and b at places i and i + 1 of an order, and x = raw_a − raw_b:
//
//   loss = 0.85^i (y_a − y_b) ln(1 + e^−x) / draws
void drawn_gradients(const DrawnTask& task, int threads) {
    for_each_query<DrawnScratch>(task.queries, threads, [&](int64_t, int64_t first, int64_t n, DrawnScratch& s) {
        const double *y = task.y + first, *raw = task.raw + first;
        double *g = task.gradients + first, *h = task.hessians + first;
        std::fill_n(g, n, 0.0);
        std::fill_n(h, n, 0.0);
        if (std::all_of(y, y + n, [y](double other) { return other == y[0]; })) return;
        uint64_t key = task.key;
        for (int64_t i = 0; i < n; ++i) key = mix(key ^ std::bit_cast<uint64_t>(y[i]));
        for (int64_t number = 0; number < task.draws; ++number) {
            s.order(raw, n, draw(key, number));
            double weight = 1.0 / static_cast<double>(task.draws);
            for (int64_t place = 0; place + 1 < n; ++place, weight *= place_decay) {
                int32_t a = s.row[place], b = s.row[place + 1];
                if (y[a] < y[b]) std::swap(a, b);
                const double p = 1.0 / (1.0 + exponential(raw[a] - raw[b])), slope = weight * (y[a] - y[b]) * p;
                g[a] -= slope;
                g[b] += slope;
                h[a] += slope * (1.0 - p);
                h[b] += slope * (1.0 - p);
            }
        }
    });
}

// ---- gradients of lists ---------------------------------------------------------------------------------------------

namespace {

struct NoScratch {
    void reserve(int64_t) {}
};

ARBORETUM_CLONES void exponentials(const double* raw, int64_t n, double top, double* out) {
    for (int64_t i = 0; i < n; ++i) out[i] = exponential(raw[i] - top);
}

}  // namespace

void list_gradients(const ListTask& task, int threads) {
    for_each_query<NoScratch>(task.queries, threads, [&](int64_t, int64_t first, int64_t n, NoScratch&) {
        const double *y = task.y + first, *raw = task.raw + first;
        double *g = task.gradients + first, *h = task.hessians + first;
        exponentials(raw, n, *std::max_element(raw, raw + n), h);
        double total = 0, gains = 0;
        for (int64_t i = 0; i < n; ++i) {
            total += h[i];
            g[i] = gain_of(y[i]);
            gains += g[i];
        }
        for (int64_t i = 0; i < n; ++i) {
            const double p = h[i] / total;
            g[i] = gains > 0 ? p - g[i] / gains : 0.0;
            h[i] = gains > 0 ? p * (1.0 - p) : 0.0;
        }
    });
}

// ---- metrics --------------------------------------------------------------------------------------------------------

namespace {

struct Judged {
    double score, y;
};

struct JudgedScratch {
    std::vector<Judged> rows;
    std::vector<double> gains;

    void reserve(int64_t n) {
        rows.resize(n);
        gains.resize(n);
    }
};

// Ties: the expected value over all orders of rows with equal scores (McSherry, Najork 2008). Calls
// run(first place, places, rows that are relevant, sum of gains) for each group of equals.
template <class Run>
void for_each_tie(const JudgedScratch& s, int64_t n, Run&& run) {
    for (int64_t begin = 0, end; begin < n; begin = end) {
        double relevant = 0, gains = 0;
        for (end = begin; end < n && s.rows[end].score == s.rows[begin].score; ++end) {
            relevant += s.rows[end].y > 0 ? 1.0 : 0.0;
            gains += gain_of(s.rows[end].y);
        }
        run(begin, end - begin, relevant, gains);
    }
}

double expected_ndcg(JudgedScratch& s, int64_t n, int64_t k, const double* discount) {
    double reached = 0, ideal = 0;
    for_each_tie(s, n, [&](int64_t begin, int64_t places, double, double gains) {
        double sum = 0;
        for (int64_t place = begin; place < std::min(begin + places, k); ++place) sum += discount[place];
        reached += sum * gains / static_cast<double>(places);
    });
    for (int64_t i = 0; i < n; ++i) s.gains[i] = gain_of(s.rows[i].y);
    std::sort(s.gains.begin(), s.gains.begin() + n, std::greater<>());
    for (int64_t place = 0; place < std::min(n, k); ++place) ideal += discount[place] * s.gains[place];
    return reached / ideal;
}

// A place of a tie of n rows, r of them relevant, is relevant with probability r / n; the i-th, from 0, then has
// i (r − 1) / (n − 1) relevant ones of the tie before it.
double expected_map(const JudgedScratch& s, int64_t n, int64_t k) {
    double sum = 0, before = 0;
    for_each_tie(s, n, [&](int64_t begin, int64_t places, double relevant, double) {
        const double share = relevant / static_cast<double>(places);
        const double growth = places > 1 ? (relevant - 1) / static_cast<double>(places - 1) : 0.0;
        for (int64_t i = 0; relevant > 0 && i < std::min(places, k - begin); ++i)
            sum += share * (before + 1 + static_cast<double>(i) * growth) / static_cast<double>(begin + i + 1);
        before += relevant;
    });
    return sum / std::min(before, static_cast<double>(k));
}

// The first tie with a relevant row decides: its i-th place is the first relevant one with the probability that the
// places before are not, times r / (n − i).
double expected_mrr(const JudgedScratch& s, int64_t n, int64_t k) {
    double expected = 0;
    bool found = false;
    for_each_tie(s, n, [&](int64_t begin, int64_t places, double relevant, double) {
        if (found || relevant == 0) return;
        found = true;
        double none_before = 1;
        for (int64_t i = 0; none_before > 0 && i < std::min(places, k - begin); ++i) {
            const double here = relevant / static_cast<double>(places - i);
            expected += none_before * here / static_cast<double>(begin + i + 1);
            none_before *= 1 - here;
        }
    });
    return expected;
}

}  // namespace

void ranking_metric(RankingMetric metric, const double* y, const double* scores, const Queries& queries, int64_t k,
                    double* out, int threads) {
    const std::vector<double> discount = discounts(metric == RankingMetric::ndcg ? queries.longest() : 0);
    for_each_query<JudgedScratch>(queries, threads, [&](int64_t q, int64_t first, int64_t n, JudgedScratch& s) {
        bool any = false;
        for (int64_t i = 0; i < n; ++i) {
            s.rows[i] = {scores[first + i], y[first + i]};
            any = any || y[first + i] > 0;
        }
        std::sort(s.rows.begin(), s.rows.begin() + n,
                  [](const Judged& a, const Judged& b) { return a.score != b.score ? a.score > b.score : a.y > b.y; });
        out[q] = !any                            ? std::numeric_limits<double>::quiet_NaN()
                 : metric == RankingMetric::ndcg ? expected_ndcg(s, n, k, discount.data())
                 : metric == RankingMetric::map  ? expected_map(s, n, k)
                                                 : expected_mrr(s, n, k);
    });
}

}  // namespace arboretum
