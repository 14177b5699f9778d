// Log-rank splits of survival trees (Segal 1988; Ishwaran, Kogalur, Blackstone, Lauer 2008).
//
// With d_j deaths among the Y_j rows at risk at the j-th time of death of a node, and dL_j, YL_j those on the left, a
// cut scores U² / V (Mantel 1966), where
//
//   U = Σ_j dL_j − YL_j d_j / Y_j
//   V = Σ_j c_j (YL_j / Y_j) (1 − YL_j / Y_j)          c_j = d_j (Y_j − d_j) / (Y_j − 1)
//
// Both are sums over the rows on the left. Let H, A and B be the running sums over times of death of d_j / Y_j,
// c_j / Y_j and c_j / Y_j². A row of weight w that ends at t is at risk at all times up to t, hence
//
//   U = Σ_i w_i (death_i − H(t_i))
//   V = Σ_i w_i A(t_i) − Σ_i Σ_k w_i w_k B(min(t_i, t_k))
//
// A row joins the double sum by two prefix sums over times, which Fenwick trees keep (Fenwick 1994): all cuts of a
// feature cost O(n log n), not O(n) times of death each, and nothing is rounded to a grid of times.
#pragma once

#include <algorithm>
#include <cmath>

#include "grow/impurity/impurity.hpp"
#include "grow/impurity/row_groups.hpp"

namespace arboretum {

// Gains of cuts of one node. Trap: its rows must come in the order of their times. They do if those of the table do,
// for partitions keep the order.
class LogRankGains {
  public:
    template <class Statistics, class Entry>
    void rank(const Statistics& statistics, const Entry* entries, int64_t n) {
        rows_.resize(n);
        int64_t at_risk = 0;
        for (int64_t i = 0; i < n; ++i) at_risk += entries[i].weight;
        double hazard = 0, mean = 0, square = 0;
        n_deaths_ = 0;
        for (int64_t begin = 0, end; begin < n; begin = end) {
            const double time = statistics.time(entries[begin].row);
            int64_t deaths = 0, leaving = 0;
            for (end = begin; end < n && statistics.time(entries[end].row) == time; ++end) {
                deaths += entries[end].sum;
                leaving += entries[end].weight;
            }
            if (deaths > 0) {
                const double d = statistics.real(deaths), y = statistics.real(at_risk);
                const double c = y > 1 ? d * std::min((y - d) / (y - 1), 1.0) : 0.0;  // weights may be below 1
                hazard += d / y;
                mean += c / y;
                square += c / (y * y);
                ++n_deaths_;
            }
            for (int64_t i = begin; i < end; ++i) {
                const double w = statistics.real(entries[i].weight);
                rows_[i] = {w, statistics.real(entries[i].sum) - w * hazard, w * mean, square, n_deaths_};
            }
            at_risk -= leaving;
        }
    }

    // gains[i]: of the cut behind the i-th group of the order; −∞ where it has no variance.
    void prefix_gains(const RowGroups& groups, const GroupOrder& order, std::vector<double>& gains) {
        sums_.assign(n_deaths_ + 1, {});
        double score = 0, mean = 0, pairs = 0;
        gains.clear();
        for (const auto& [key, group] : order) {
            for (const uint32_t i : groups[group]) {
                const RankedRow& row = rows_[i];
                score += row.score;
                mean += row.mean;
                pairs += row.weight * (row.weight * row.square + 2 * join(row));
            }
            const double variance = mean - pairs;
            gains.push_back(variance > 1e-10 * mean ? score * score / variance : -infinity);
        }
    }

    // Mean score of a group: categories that die early against those that die late.
    double order_key(std::span<const uint32_t> group) const {
        double score = 0, weight = 0;
        for (const uint32_t i : group) {
            score += rows_[i].score;
            weight += rows_[i].weight;
        }
        return score / weight;
    }

  private:
    struct RankedRow {
        double weight, score, mean, square;  // w, w (death − H), w A, B
        uint32_t n_deaths;                   // times of death up to the row's
    };
    struct Sums {
        double weight, squares;  // Σ w, Σ w B
    };

    // Σ_k w_k B(min(t, t_k)) over the rows on the left, which the row then joins.
    double join(const RankedRow& row) {
        if (row.n_deaths == 0) return 0;
        Sums before{};  // of rows that end before the row's last time of death
        for (uint32_t k = row.n_deaths - 1; k > 0; k &= k - 1) {
            before.weight += sums_[k].weight;
            before.squares += sums_[k].squares;
        }
        const double found = before.squares + row.square * (sums_[0].weight - before.weight);
        for (uint32_t k = row.n_deaths; k <= n_deaths_; k += k & -k) {
            sums_[k].weight += row.weight;
            sums_[k].squares += row.weight * row.square;
        }
        sums_[0].weight += row.weight;
        return found;
    }

    std::vector<RankedRow> rows_;
    std::vector<Sums> sums_;  // a Fenwick tree over times of death; [0]: all rows at risk at one of them
    uint32_t n_deaths_ = 0;
};

// The number of a row is the rank of its time, from 1 on; negative for a row without event.
class LogRank : public Moments {
  public:
    using Ranking = LogRankGains;

    explicit LogRank(const Target& target) : Moments(target), target_(target) {}

    Stat stat(Row row, int64_t copies) const {
        const int64_t weight = copies * target_.fixed_weight(row);
        return {weight, target_.numbers[row] > 0 ? weight : 0, row};
    }
    double time(Row row) const { return std::abs(target_.numbers[row]); }
    double real(int64_t fixed) const { return static_cast<double>(fixed) / target_.weight_scale; }

    // No event, or all events at one time.
    bool is_pure(const Word* total, const RowNumbers& rows) const {
        return Moments::total(total) == 0 ||
               (Moments::total(total) == weight(total) && time(rows[0]) == time(rows[rows.size() - 1]));
    }
    // Share of events.
    double mean(const Word* sum, int) const { return total(sum) / weight(sum); }

  private:
    const Target& target_;
};

}  // namespace arboretum
