// Absolute error of growing sets of numbers: Σ weight · |y − median|, after each number that is added.
//
// Numbers are known beforehand and ranked. Two Fenwick trees over the ranks (Fenwick 1994) hold weight and weight · y,
// so that the median is found by descent, and the error follows from the sums on its two sides.
//
// Weights and numbers are integers, and equal numbers share a rank: errors are exact. Neither the order of the rows nor
// whether a row is given three times or has weight 3 can decide between cuts of equal gain.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "grow/impurity/row_groups.hpp"

namespace arboretum {

// Sums of 2^61 of weight times numbers below 2^61.
using ExactError = __int128;

class MedianError {
  public:
    void rank(const std::vector<int64_t>& numbers) {
        sorted_ = numbers;
        std::sort(sorted_.begin(), sorted_.end());
        sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
        rank_.resize(numbers.size());
        for (size_t i = 0; i < numbers.size(); ++i)
            rank_[i] =
                static_cast<uint32_t>(std::lower_bound(sorted_.begin(), sorted_.end(), numbers[i]) - sorted_.begin());
        clear();
    }

    void clear() {
        weight_.assign(sorted_.size() + 1, 0);
        sum_.assign(sorted_.size() + 1, 0);
        total_weight_ = 0;
        total_sum_ = 0;
    }

    void add(size_t i, int64_t weight) {
        const ExactError moment = static_cast<ExactError>(weight) * sorted_[rank_[i]];
        for (size_t k = rank_[i] + 1; k <= sorted_.size(); k += k & -k) {
            weight_[k] += weight;
            sum_[k] += moment;
        }
        total_weight_ += weight;
        total_sum_ += moment;
    }

    ExactError error() const {
        size_t place = 0;
        int64_t weight = 0;  // of the numbers before the median
        ExactError sum = 0;
        for (size_t step = std::bit_floor(sorted_.size()); step > 0; step /= 2)
            if (place + step <= sorted_.size() && 2 * (weight + weight_[place + step]) < total_weight_) {
                place += step;
                weight += weight_[place];
                sum += sum_[place];
            }
        const ExactError median = sorted_[std::min(place, sorted_.size() - 1)];
        return total_sum_ - 2 * sum - median * (total_weight_ - 2 * weight);
    }

  private:
    std::vector<uint32_t> rank_;
    std::vector<int64_t> sorted_, weight_;
    std::vector<ExactError> sum_;
    int64_t total_weight_ = 0;
    ExactError total_sum_ = 0;
};

// Gains of cuts of one node by absolute error.
class MedianGains {
  public:
    template <class Statistics, class Entry>
    void rank(const Statistics& statistics, const Entry* entries, int64_t n) {
        numbers_.resize(n);
        weight_.resize(n);
        for (int64_t i = 0; i < n; ++i) {
            numbers_[i] = statistics.fixed_number(entries[i].row);
            weight_[i] = entries[i].weight;
        }
        medians_.rank(numbers_);
        scales_ = statistics.scales();
    }

    // gains[i]: of the cut behind the i-th group of the order.
    void prefix_gains(const RowGroups& groups, const GroupOrder& order, std::vector<double>& gains) {
        const size_t n = order.size();
        right_.assign(n + 1, 0);  // error of groups i … n−1
        medians_.clear();
        for (size_t i = n; i-- > 0;) right_[i] = error_with(groups[order[i].second]);
        medians_.clear();
        gains.resize(n);
        for (size_t i = 0; i < n; ++i) gains[i] = real(right_[0] - error_with(groups[order[i].second]) - right_[i + 1]);
    }

  private:
    double real(ExactError error) const { return static_cast<double>(error) / scales_.first / scales_.second; }

    ExactError error_with(std::span<const uint32_t> rows) {
        for (const uint32_t i : rows) medians_.add(i, weight_[i]);
        return medians_.error();
    }

    MedianError medians_;
    std::vector<int64_t> numbers_, weight_;
    std::vector<ExactError> right_;
    std::pair<double, double> scales_;  // of weights and of numbers
};

}  // namespace arboretum
