// What the rows of a forest of impurity trees are: their targets and weights.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace arboretum {

enum class Criterion : int { gini, entropy, squared_error, poisson, absolute_error, log_rank, kl, euclidean, chi2 };

// Uplift (uplift.hpp): numbers are outcomes of rows that were treated, or not, in several ways.
struct Treatment {
    const int32_t* arms = nullptr;  // per row, 0 is the control
    int n_arms = 0;                 // 0: no uplift
    int64_t min_rows_arm = 1;       // of each arm in a leaf
    double parent_weight = 0;       // rows that a parent's outcome counts for
    bool balanced_gain = false;
};

// What the rows of a forest are: targets and weights of one fit, shared by all its trees. Weights are whole numbers of
// 1/weight_scale; numbers are kept as weight·(y − center)·sum_scale, and where they are ranked as (y − center) ·
// number_scale. Scales and centers depend neither on the order of the rows nor, if weights are whole, on whether a row
// is given several times or has that weight.
struct Target {
    int64_t n_rows = 0;
    int n_outputs = 1;
    std::vector<int32_t> n_classes;    // of each output; empty: numbers
    const int32_t* classes = nullptr;  // rows × outputs
    const double* numbers = nullptr;   // rows × outputs
    const double* weight = nullptr;    // per row; null: 1
    Criterion criterion = Criterion::gini;
    double weight_scale = 1, sum_scale = 1, number_scale = 1;
    bool has_whole_weights = true;
    std::vector<double> center;  // of each output
    Treatment treatment;

    bool is_classes() const { return !n_classes.empty(); }
    bool is_binary() const { return n_classes.size() == 1 && n_classes[0] == 2; }
    double weight_of(Row row) const { return weight != nullptr ? weight[row] : 1.0; }
    int64_t fixed_weight(Row row) const { return std::llrint(weight_of(row) * weight_scale); }
    int64_t fixed_sum(Row row, int output) const {
        const double y = centered(row, output);
        // A row of weight 3 adds three times what the row alone does, to the last bit.
        if (has_whole_weights) return static_cast<int64_t>(weight_of(row)) * std::llrint(y * sum_scale);
        return std::llrint(weight_of(row) * y * sum_scale);
    }
    int64_t fixed_number(Row row) const { return std::llrint(centered(row, 0) * number_scale); }
    // Values of a leaf: the share of the second class, the shares of all classes, or one number per output or arm.
    int width() const {
        if (treatment.n_arms > 0) return treatment.n_arms;
        if (!is_classes()) return n_outputs;
        if (is_binary()) return 1;
        int n = 0;
        for (int32_t k : n_classes) n += k;
        return n;
    }

    // Whether gains come from ranked rows, in real units.
    bool has_ranked_gains() const { return criterion == Criterion::absolute_error || criterion == Criterion::log_rank; }

    // From the units of a gain to weight · impurity.
    double gain_scale() const {
        if (is_classes() || treatment.n_arms > 0) return weight_scale;
        if (criterion == Criterion::poisson) return sum_scale;
        if (has_ranked_gains()) return 1;
        return sum_scale * sum_scale / weight_scale;
    }

    // Powers of two that leave room for the largest sum in 62 bits; whole weights are kept as they are.
    // n_draws: rows of a tree with replacement, 0 if every row counts once.
    void choose_scales(int64_t n_draws);

    static constexpr int packed_field = 21;
    static constexpr double packed_most = (1 << packed_field) - 1;
    bool is_packable = false;
    static constexpr int counted_field = 32;
    bool is_countable = false;  // rows and their weight fit the halves of a word

  private:
    bool has_shares() const;
    double centered(Row row, int output) const {
        return numbers[static_cast<int64_t>(row) * n_outputs + output] - center[output];
    }
    void set_centers(double total);
    template <class Value>
    double sum_over_rows(Value value) const;
    static double room_for(double total) {
        return total > 0 ? std::ldexp(1.0, std::min(60 - std::ilogb(total), 1000)) : 1.0;
    }
};

}  // namespace arboretum
