// Absolute error of growing sets of numbers: Σ weight · |y − median|, after each number that is added.
//
// Numbers are known beforehand and ranked. Two Fenwick trees over the ranks (Fenwick 1994) hold weight and weight · y,
// so that the median is found by descent, and the error follows from the sums on its two sides.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "row_groups.hpp"

namespace arboretum {

class MedianError {
  public:
    // Ranks numbers; equal ones in the order given.
    void rank(std::vector<double> numbers) {
        const size_t n = numbers.size();
        order_.resize(n);
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return numbers[a] < numbers[b]; });
        rank_.resize(n);
        sorted_.resize(n);
        for (size_t r = 0; r < n; ++r) {
            rank_[order_[r]] = static_cast<uint32_t>(r);
            sorted_[r] = numbers[order_[r]];
        }
        clear();
    }

    void clear() {
        weight_.assign(sorted_.size() + 1, 0.0);
        sum_.assign(sorted_.size() + 1, 0.0);
        total_weight_ = total_sum_ = 0;
    }

    void add(size_t i, double weight) {
        const double y = sorted_[rank_[i]];
        for (size_t k = rank_[i] + 1; k <= sorted_.size(); k += k & -k) {
            weight_[k] += weight;
            sum_[k] += weight * y;
        }
        total_weight_ += weight;
        total_sum_ += weight * y;
    }

    double error() const {
        size_t place = 0;
        double weight = 0, sum = 0;  // of the numbers before the median
        for (size_t step = std::bit_floor(sorted_.size()); step > 0; step /= 2)
            if (place + step <= sorted_.size() && weight + weight_[place + step] < total_weight_ / 2) {
                place += step;
                weight += weight_[place];
                sum += sum_[place];
            }
        const double median = sorted_[std::min(place, sorted_.size() - 1)];
        return median * weight - sum + (total_sum_ - sum) - median * (total_weight_ - weight);
    }

  private:
    std::vector<uint32_t> order_, rank_;
    std::vector<double> sorted_, weight_, sum_;
    double total_weight_ = 0, total_sum_ = 0;
};

// Gains of cuts of one node by absolute error.
class MedianGains {
  public:
    template <class Statistics, class Entry>
    void rank(const Statistics& statistics, const Entry* entries, int64_t n) {
        std::vector<double> numbers(n);
        weight_.resize(n);
        for (int64_t i = 0; i < n; ++i) {
            numbers[i] = statistics.number(entries[i].row);
            weight_[i] = statistics.weight_of(entries[i]);
        }
        medians_.rank(std::move(numbers));
    }

    // gains[i]: of the cut behind the i-th group of the order.
    void prefix_gains(const RowGroups& groups, const GroupOrder& order, std::vector<double>& gains) {
        const size_t n = order.size();
        right_.assign(n + 1, 0.0);  // error of groups i … n−1
        medians_.clear();
        for (size_t i = n; i-- > 0;) right_[i] = error_with(groups[order[i].second]);
        medians_.clear();
        gains.resize(n);
        for (size_t i = 0; i < n; ++i) gains[i] = right_[0] - error_with(groups[order[i].second]) - right_[i + 1];
    }

  private:
    double error_with(std::span<const uint32_t> rows) {
        for (const uint32_t i : rows) medians_.add(i, weight_[i]);
        return medians_.error();
    }

    MedianError medians_;
    std::vector<double> weight_, right_;
};

}  // namespace arboretum
