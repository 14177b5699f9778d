// Concordance of risks with times that may be censored (Harrell, Califf, Pryor, Lee, Rosati 1982), in O(n log n).
//
// Two rows can be compared if one has its event while the other is still at risk: at a later time, or censored at the
// same one. They agree if the first has the higher risk. A Fenwick tree over ranks of risk holds the rows that outlive
// the time at hand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace arboretum {

struct Concordance {
    double agreeing = 0, disagreeing = 0, tied = 0;  // Σ of products of weights
};

struct ConcordanceRows {
    const double* time;
    const uint8_t* event;
    const double* risk;
    const double* weight;  // or null
    int64_t n;

    double weight_of(int64_t i) const { return weight != nullptr ? weight[i] : 1.0; }
};

class WeightBelow {
  public:
    explicit WeightBelow(size_t n) : sums_(n + 1, 0.0) {}

    void add(size_t rank, double weight) {
        for (size_t k = rank + 1; k < sums_.size(); k += k & -k) sums_[k] += weight;
        total_ += weight;
    }
    // Σ over ranks below this one.
    double below(size_t rank) const {
        double sum = 0;
        for (size_t k = rank; k > 0; k &= k - 1) sum += sums_[k];
        return sum;
    }
    double total() const { return total_; }

  private:
    std::vector<double> sums_;
    double total_ = 0;
};

// tolerance: risks that differ by no more are tied.
inline Concordance concordance(const ConcordanceRows& rows, double tolerance) {
    std::vector<int64_t> order(rows.n);
    for (int64_t i = 0; i < rows.n; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return rows.time[a] > rows.time[b]; });
    std::vector<double> sorted(rows.risk, rows.risk + rows.n);
    std::sort(sorted.begin(), sorted.end());
    WeightBelow outliving(sorted.size());
    Concordance found;
    auto join = [&](int64_t i) {
        const auto at = std::lower_bound(sorted.begin(), sorted.end(), rows.risk[i]);
        outliving.add(static_cast<size_t>(at - sorted.begin()), rows.weight_of(i));
    };
    auto compare = [&](int64_t i) {
        auto within = [&](double other) { return other - rows.risk[i]; };
        const auto low = std::partition_point(sorted.begin(), sorted.end(),
                                              [&](double other) { return within(other) < -tolerance; });
        const auto high =
            std::partition_point(low, sorted.end(), [&](double other) { return within(other) <= tolerance; });
        const double below = outliving.below(static_cast<size_t>(low - sorted.begin()));
        const double up_to = outliving.below(static_cast<size_t>(high - sorted.begin()));
        found.agreeing += rows.weight_of(i) * below;
        found.tied += rows.weight_of(i) * (up_to - below);
        found.disagreeing += rows.weight_of(i) * (outliving.total() - up_to);
    };
    for (int64_t begin = 0, end; begin < rows.n; begin = end) {
        for (end = begin; end < rows.n && rows.time[order[end]] == rows.time[order[begin]]; ++end)
            if (rows.event[order[end]] == 0) join(order[end]);
        for (int64_t k = begin; k < end; ++k)
            if (rows.event[order[k]] != 0) compare(order[k]);
        for (int64_t k = begin; k < end; ++k)
            if (rows.event[order[k]] != 0) join(order[k]);
    }
    return found;
}

}  // namespace arboretum
