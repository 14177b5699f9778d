#include "grow/threshold_search.hpp"

#include <algorithm>
#include <cmath>

#include "base/elementary.hpp"
#include "base/parallel.hpp"
#include "base/per_thread.hpp"
#include "base/simd.hpp"
#include "grow/impurity/row_groups.hpp"

namespace arboretum {

namespace {

constexpr int64_t work_per_thread = 1 << 12;  // values of a node that repay waking a thread

[[gnu::always_inline]] inline double xlog2x(double x) { return x * logarithm2(x > 0 ? x : 1.0); }

// out[i] = N(part) + N(rest)
ARBORETUM_CLONES void add_sides(int64_t n, const double* part, const double* rest, double* out) {
    ARBORETUM_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = xlog2x(part[i]) + xlog2x(rest[i]);
}

}  // namespace

struct ThresholdSearch::Scratch {
    // By sorted case. keys: rank and place of the case; both, both_own: N of the two sides.
    std::vector<uint64_t> keys, other;
    std::vector<uint32_t> own_class;
    std::vector<double> below, above, own, own_above, both, both_own, gain;
    // By class; terms: N of the two sides. present: classes, rising.
    std::vector<double> totals, terms;
    std::vector<uint32_t> present;
};

ThresholdSearch::ThresholdSearch(const std::vector<RawColumn>& columns, std::span<const int64_t> classes,
                                 int64_t n_classes, int threads)
    : columns_(rank_columns(columns, static_cast<int64_t>(classes.size()), threads)),
      classes_(classes.begin(), classes.end()),
      n_classes_(n_classes) {}

void ThresholdSearch::find(const WeightedCases& cases, const ThresholdRules& rules, int threads,
                           BestThreshold* out) const {
    const int64_t work = static_cast<int64_t>(cases.rows.size()) * n_columns();
    threads = static_cast<int>(std::clamp<int64_t>(work / work_per_thread, 1, std::max(threads, 1)));
    PerThread<Scratch> scratch(threads);
    parallel_for(n_columns(), threads, [&](int64_t column, int worker) {
        out[column] = find_in(columns_[column], cases, rules, scratch[worker]);
    });
}

void ThresholdSearch::sort(const RankedColumn& column, const WeightedCases& cases, Scratch& scratch) const {
    const auto missing = static_cast<Code>(column.values.size());
    scratch.keys.resize(cases.rows.size());
    size_t n = 0;
    for (size_t i = 0; i < cases.rows.size(); ++i) {  // without a branch: a missing value is overwritten by the next
        const Code rank = column.codes[cases.rows[i]];
        scratch.keys[n] = uint64_t{rank} << 32 | i;
        n += rank < missing;
    }
    scratch.keys.resize(n);
    sort_keys(scratch.keys, scratch.other);
}

double ThresholdSearch::sum_up(const WeightedCases& cases, Scratch& s) const {
    const size_t n = s.keys.size();
    for (std::vector<double>* list : {&s.below, &s.above, &s.own, &s.own_above, &s.both, &s.both_own, &s.gain})
        list->resize(n);
    s.own_class.resize(n);
    s.totals.assign(n_classes_, 0.0);
    double below = 0;
    for (size_t i = 0; i < n; ++i) {
        const auto place = static_cast<uint32_t>(s.keys[i]);
        const auto k = static_cast<uint32_t>(classes_[cases.rows[place]]);
        s.own_class[i] = k;
        s.below[i] = below += cases.weight[place];
        s.own[i] = s.totals[k] += cases.weight[place];
    }
    for (size_t i = 0; i < n; ++i) {
        s.above[i] = std::max(below - s.below[i], 0.0);
        s.own_above[i] = std::max(s.totals[s.own_class[i]] - s.own[i], 0.0);
    }
    add_sides(n, s.below.data(), s.above.data(), s.both.data());
    add_sides(n, s.own.data(), s.own_above.data(), s.both_own.data());
    double before = xlog2x(below);
    s.terms.assign(n_classes_, 0.0);
    s.present.clear();
    for (int64_t k = 0; k < n_classes_; ++k) {
        if (s.totals[k] == 0) continue;
        s.present.push_back(static_cast<uint32_t>(k));
        s.terms[k] = xlog2x(s.totals[k]);
        before -= s.terms[k];
    }
    return before;
}

BestThreshold ThresholdSearch::find_in(const RankedColumn& column, const WeightedCases& cases,
                                       const ThresholdRules& rules, Scratch& s) const {
    BestThreshold best{-infinity, 0, 0, 0, 0, 0};
    sort(column, cases, s);
    if (s.keys.empty()) return best;
    const double before = sum_up(cases, s);
    best.known = s.below.back();
    const double tenth = 0.1 * best.known / static_cast<double>(n_classes_);
    const double least = std::min(std::max(tenth, rules.least), rules.most) * (1 - rules.tie);
    double largest = -infinity;
    for (size_t i = 0; i + 1 < s.keys.size(); ++i) {
        s.terms[s.own_class[i]] = s.both_own[i];
        s.gain[i] = -infinity;
        const double fewer = std::min(s.below[i], s.above[i]);
        if (s.keys[i] >> 32 == s.keys[i + 1] >> 32 || fewer < least || !(fewer > 0)) continue;
        double after = s.both[i];
        for (uint32_t k : s.present) after -= s.terms[k];
        s.gain[i] = (before - after) / cases.total;
        largest = std::max(largest, s.gain[i]);
        ++best.n_tries;
    }
    if (best.n_tries == 0) return best;
    size_t at = 0;
    while (s.gain[at] < largest - rules.tie) ++at;
    best.gain = s.gain[at];
    best.low = column.values[s.keys[at] >> 32];
    best.high = column.values[s.keys[at + 1] >> 32];
    best.below = s.below[at];
    return best;
}

}  // namespace arboretum
