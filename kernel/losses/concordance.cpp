#include "losses/concordance.hpp"

#include <algorithm>
#include <vector>

namespace arboretum {

namespace {

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

}  // namespace

Concordance concordance(const ConcordanceRows& rows, double tolerance) {
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
