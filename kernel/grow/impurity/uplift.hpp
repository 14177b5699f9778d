// What uplift trees sum up over their rows, and how good a cut is (Rzepakowski & Jaroszewicz 2012).
//
// Every row belongs to an arm: 0 is the control, others are treatments. A sum has three words per arm:
//
//   │ rows, Σ weight, Σ weight·y │ rows, Σ weight, Σ weight·y │ …
//       control                      first treatment
//
// The outcome p of an arm in a node is its mean, drawn towards that of the parent by `parent_weight` rows:
//   p = (Σ weight·y + parent_weight · p of the parent) / (Σ weight + parent_weight)
// A cut is good if treatments and control differ more on its sides than in the node. With q the control's outcome:
//   D = Σ over treatments of   kl: p ln(p/q) + (1−p) ln((1−p)/(1−q))   euclidean: (p−q)²   chi2: (p−q)² / (q(1−q))
//   gain = (L·D(left) + R·D(right) − W·D(node)) / balance               balance: see Balance; 1 if not asked for
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "grow/impurity/impurity.hpp"

namespace arboretum {

// Distance that shares keep from 0 and 1, so that logarithms and quotients stay finite.
constexpr double least_share = 1e-6;

inline double inner_share(double p) { return std::clamp(p, least_share, 1 - least_share); }

inline double kl_divergence(double p, double q) {
    p = inner_share(p);
    q = inner_share(q);
    return p * std::log(p / q) + (1 - p) * std::log((1 - p) / (1 - q));
}

inline double divergence(Criterion criterion, double p, double q) {
    if (criterion == Criterion::kl) return kl_divergence(p, q);
    const double square = (p - q) * (p - q);
    return criterion == Criterion::chi2 ? square / (inner_share(q) * (1 - inner_share(q))) : square;
}

// Impurity of two classes with shares p and 1 − p: entropy goes with kl, Gini with the other two.
inline double share_impurity(Criterion criterion, double p) {
    if (criterion != Criterion::kl) return 2 * p * (1 - p);
    EntropyTerm term;
    return -term(p) - term(1 - p);
}

// Divides gains (ibid., eq. 10 and 11): cuts that send treated and control rows to different sides, or that cut off
// few rows, gain by chance. With T all treated rows, C the control, A the side of a row:
//   i(T, C) · D(A of T : A of C) + Σ over arms of share of the arm · i(A of the arm) + 1/2
class Balance {
  public:
    explicit Balance(Criterion criterion) : criterion_(criterion) {}

    void add(int arm, double left, double all) {
        impurities_ += all > 0 ? all * share_impurity(criterion_, left / all) : 0;
        (arm == 0 ? control_left_ : treated_left_) += left;
        (arm == 0 ? control_ : treated_) += all;
    }
    double value() const {
        const double all = treated_ + control_;
        const double apart = treated_ > 0 && control_ > 0
                                 ? divergence(criterion_, treated_left_ / treated_, control_left_ / control_)
                                 : 0;
        return share_impurity(criterion_, treated_ / all) * apart + impurities_ / all + 0.5;
    }

  private:
    Criterion criterion_;
    double impurities_ = 0, treated_ = 0, control_ = 0, treated_left_ = 0, control_left_ = 0;
};

// fixed: number of arms if known when compiled, else 0.
template <int fixed>
class Arms {
  public:
    struct Stat {
        int64_t weight, sum;
        int32_t arm;
        Row row;
    };
    using Word = int64_t;
    static constexpr bool codes_stay = true;
    using Sum = std::conditional_t<(fixed > 0), std::array<Word, 3 * fixed>, std::vector<Word>>;
    // Outcome of each arm in the parent.
    using Inherited = std::conditional_t<(fixed > 0), std::array<double, fixed>, std::vector<double>>;

    explicit Arms(const Target& target)
        : target_(target), per_sum_(1 / target.sum_scale), per_weight_(1 / target.weight_scale) {
        Sum all = zero();
        for (int64_t row = 0; row < target.n_rows; ++row) add(stat(static_cast<Row>(row), 1), all.data());
        everywhere_ = root(all.data());
    }

    int n_arms() const { return fixed > 0 ? fixed : target_.treatment.n_arms; }
    int words() const { return 3 * n_arms(); }
    Sum zero() const {
        if constexpr (fixed > 0)
            return {};
        else
            return Sum(words(), 0);
    }
    Stat stat(Row row, int64_t copies) const {
        return {copies * target_.fixed_weight(row), copies * target_.fixed_sum(row, 0), target_.treatment.arms[row],
                row};
    }
    [[gnu::always_inline]] static void add(const Stat& e, Word* sum) {
        Word* arm = sum + 3 * e.arm;
        arm[0] += 1;
        arm[1] += e.weight;
        arm[2] += e.sum;
    }
    [[gnu::always_inline]] static void add_if(bool wanted, const Stat& e, Word* sum) {
        const int64_t mask = -static_cast<int64_t>(wanted);
        Word* arm = sum + 3 * e.arm;
        arm[0] += wanted;
        arm[1] += e.weight & mask;
        arm[2] += e.sum & mask;
    }
    int64_t rows(const Word* sum) const { return total(sum, 0); }
    double weight(const Word* sum) const { return static_cast<double>(total(sum, 1)); }

    // Or without enough rows of an arm for both sides of a cut.
    bool is_pure(const Word* sum, const RowNumbers&) const {
        for (int arm = 0; arm < n_arms(); ++arm)
            if (sum[3 * arm] < 2 * target_.treatment.min_rows_arm) return true;
        return false;
    }

    Inherited root(const Word* sum) const {
        Inherited outcomes{};
        if constexpr (fixed == 0) outcomes.resize(n_arms());
        for (int arm = 0; arm < n_arms(); ++arm) outcomes[arm] = outcome(sum[3 * arm + 1], sum[3 * arm + 2], 0, 0);
        return outcomes;
    }
    Inherited outcomes(const Word* sum, const Inherited& parent) const {
        Inherited outcomes = parent;
        for (int arm = 0; arm < n_arms(); ++arm)
            outcomes[arm] = outcome(sum[3 * arm + 1], sum[3 * arm + 2], parent[arm], target_.treatment.parent_weight);
        return outcomes;
    }

    struct Gain {
        const Arms& arms;
        const Word* total;
        Inherited node;
        double weight, apart;

        Gain(const Arms& arms, const Word* total, const Inherited& parent)
            : arms(arms), total(total), node(arms.outcomes(total, parent)), weight(arms.weight(total)), apart(0) {
            for (int arm = 1; arm < arms.n_arms(); ++arm)
                apart += divergence(arms.target_.criterion, node[arm], node[0]);
        }

        // A cut that gains nothing is not taken: chance alone separates outcomes. -infinity for what cannot pass the
        // bar: no divergence is above chi2 (kl <= chi2), no balance below 1/2, and neither bound needs a logarithm.
        double operator()(const Word* left, double bar) const {
            const Treatment& rules = arms.target_.treatment;
            for (int arm = 0; arm < arms.n_arms(); ++arm)
                if (std::min(left[3 * arm], total[3 * arm] - left[3 * arm]) < rules.min_rows_arm) return -infinity;
            const Criterion criterion = arms.target_.criterion;
            const double least = std::max(0.0, rules.balanced_gain ? bar / 2 : bar);
            if (criterion == Criterion::kl && !(raw_gain(Criterion::chi2, left) > least)) return -infinity;
            const double gain = raw_gain(criterion, left);
            if (!(gain > least)) return -infinity;
            return rules.balanced_gain ? gain / balance(left) : gain;
        }

      private:
        double raw_gain(Criterion criterion, const Word* left) const {
            const double w = arms.weight(left);
            return w * side_apart(criterion, left, false) + (weight - w) * side_apart(criterion, left, true) -
                   weight * apart;
        }
        double side_apart(Criterion criterion, const Word* left, bool right) const {
            double control = 0, sum = 0;
            for (int arm = 0; arm < arms.n_arms(); ++arm) {
                const Word *l = left + 3 * arm, *t = total + 3 * arm;
                const double p = arms.outcome(right ? t[1] - l[1] : l[1], right ? t[2] - l[2] : l[2], node[arm],
                                              arms.target_.treatment.parent_weight);
                if (arm == 0)
                    control = p;
                else
                    sum += divergence(criterion, p, control);
            }
            return sum;
        }
        double balance(const Word* left) const {
            Balance balance(arms.target_.criterion);
            for (int arm = 0; arm < arms.n_arms(); ++arm)
                balance.add(arm, static_cast<double>(left[3 * arm + 1]), static_cast<double>(total[3 * arm + 1]));
            return balance.value();
        }
    };

    // Categories are ordered by the effect of each of the treatments, drawn towards that in all rows.
    int n_orders() const { return std::min(n_arms() - 1, 8); }
    double order_key(const Word* sum, int k) const {
        auto drawn = [&](int arm) {
            return outcome(sum[3 * arm + 1], sum[3 * arm + 2], everywhere_[arm],
                           std::max(target_.treatment.parent_weight, 1.0));
        };
        return drawn(k + 1) - drawn(0);
    }

  private:
    Word total(const Word* sum, int word) const {
        Word all = 0;
        for (int arm = 0; arm < n_arms(); ++arm) all += sum[3 * arm + word];
        return all;
    }

    double outcome(Word weight, Word sum, double parent, double parent_weight) const {
        const double center = target_.center[0];
        const double all = static_cast<double>(weight) * per_weight_ + parent_weight;
        if (!(all > 0)) return parent;
        return center + (static_cast<double>(sum) * per_sum_ + parent_weight * (parent - center)) / all;
    }

    const Target& target_;
    double per_sum_, per_weight_;
    Inherited everywhere_;
};

}  // namespace arboretum
