// What trees of impurity sum up over their rows, and how good a cut is.
//
// A Statistics says what a row adds to the sum of a node, a bin or a side of a cut. Sums are words of 64 bits, integers
// all, hence exact: the order of the rows, and which thread adds them, cannot matter.
//
//   PackedBinary   2 classes, whole weights      1 word    rows │ weight of class 1 │ weight     21 bits each
//   Moments        a number, or 2 classes        3 words   rows, Σ weight, Σ weight·y            fixed point
//   Medians        a number, absolute error      the same, but gains come from ranks (medians.hpp)
//   LogRank        a time, perhaps censored      the same, Σ weight of events in place of y (log_rank.hpp)
//   Lanes          many classes, many outputs    2 + n     rows, Σ weight, one lane a class or output
//   Arms           outcomes of treated rows      3 an arm  see uplift.hpp
//
// The gain of a cut is the fall of impurity times weight, W·i(t) − L·i(left) − R·i(right) (Breiman et al. 1984, §4.3).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "medians.hpp"
#include "types.hpp"

namespace arboretum {

enum class Criterion : int { gini, entropy, squared_error, poisson, absolute_error, log_rank, kl, euclidean, chi2 };

// x·ln x, from a table for small whole numbers: a cut costs six of them. Trap: the difference of two rounded sums may
// lie below 0, and be whole.
class EntropyTerm {
  public:
    double operator()(double x) const {
        if (x <= 0) return 0;
        if (x < size && x == std::floor(x)) return table()[static_cast<size_t>(x)];
        return x * std::log(x);
    }

  private:
    static constexpr int size = 4096;
    static const double* table() {
        static const std::unique_ptr<const double[]> terms = [] {
            auto made = std::make_unique<double[]>(size);
            for (int i = 1; i < size; ++i) made[i] = i * std::log(static_cast<double>(i));
            return made;
        }();
        return terms.get();
    }
};

// Gains where a side is told by its weight and the sum of a number (of 0s and 1s: the weight of class 1).
//
//   variance (squared_error; gini is twice it):  W (s − l·S/W)² / (l·r)
//   entropy:  Σ over sides of  −s ln(s/l) − (l−s) ln((l−s)/l)
//   poisson:  s ln(s/l) + (S−s) ln((S−s)/r) − S ln(S/W), sides with s = 0 excluded
template <Criterion criterion>
struct PairGain {
    double weight, sum;
    double parent = 0;

    PairGain(double weight, double sum) : weight(weight), sum(sum) {
        if constexpr (criterion == Criterion::entropy) parent = disorder(weight, sum);
        if constexpr (criterion == Criterion::poisson) parent = poisson(weight, sum);
    }

    double operator()(double w, double s) const {
        if constexpr (criterion == Criterion::entropy)
            return parent - disorder(w, s) - disorder(weight - w, sum - s);
        else if constexpr (criterion == Criterion::poisson)
            return s > 0 && sum - s > 0 ? poisson(w, s) + poisson(weight - w, sum - s) - parent : -infinity;
        else {
            double apart = s * weight - w * sum;
            return apart * apart / (w * (weight - w) * weight) * (criterion == Criterion::gini ? 2 : 1);
        }
    }

  private:
    static double disorder(double w, double s) {
        EntropyTerm term;
        return term(w) - term(s) - term(w - s);
    }
    static double poisson(double w, double s) { return s > 0 ? s * std::log(s / w) : 0; }
};

// Uplift (uplift.hpp): numbers are outcomes of rows that were treated, or not, in several ways.
struct Treatment {
    const int32_t* arms = nullptr;  // per row, 0 is the control
    int n_arms = 0;                 // 0: no uplift
    int64_t min_rows_arm = 1;       // of each arm in a leaf
    double parent_weight = 0;       // rows that a parent's outcome counts for
    bool balanced_gain = false;
};

// What the rows of a forest are: targets and weights of one fit, shared by all its trees. Weights are whole numbers of
// 1/weight_scale; numbers are kept as weight·(y − center)·sum_scale.
struct Target {
    int64_t n_rows = 0;
    int n_outputs = 1;
    std::vector<int32_t> n_classes;    // of each output; empty: numbers
    const int32_t* classes = nullptr;  // rows × outputs
    const double* numbers = nullptr;   // rows × outputs
    const double* weight = nullptr;    // per row; null: 1
    Criterion criterion = Criterion::gini;
    double weight_scale = 1, sum_scale = 1;
    std::vector<double> center;  // of each output
    Treatment treatment;

    bool is_classes() const { return !n_classes.empty(); }
    bool is_binary() const { return n_classes.size() == 1 && n_classes[0] == 2; }
    double weight_of(Row row) const { return weight != nullptr ? weight[row] : 1.0; }
    int64_t fixed_weight(Row row) const { return std::llrint(weight_of(row) * weight_scale); }
    int64_t fixed_sum(Row row, int output) const {
        double y = numbers[static_cast<int64_t>(row) * n_outputs + output] - center[output];
        return std::llrint(weight_of(row) * y * sum_scale);
    }
    // Values of a leaf: the share of the second class, of all classes of all outputs, a number an output, or an arm.
    int width() const {
        if (treatment.n_arms > 0) return treatment.n_arms;
        if (!is_classes()) return n_outputs;
        if (is_binary()) return 1;
        int n = 0;
        for (int32_t k : n_classes) n += k;
        return n;
    }

    // Whether gains are sums of floats, which depend on the order of the rows in the last digits.
    bool has_rounded_gains() const {
        return criterion == Criterion::absolute_error || criterion == Criterion::log_rank;
    }

    // Powers of two that leave room for the largest sum in 62 bits; whole weights are kept as they are.
    // n_draws: rows of a tree with replacement, 0 if every row counts once.
    void choose_scales(int64_t n_draws) {
        double total = 0, heaviest = 0, largest = 0;
        bool whole = true;
        for (int64_t row = 0; row < n_rows; ++row) {
            const double w = weight_of(static_cast<Row>(row));
            total += w;
            heaviest = std::max(heaviest, w);
            whole &= w == std::floor(w);
        }
        center.assign(n_outputs, 0.0);
        if (!is_classes() && criterion != Criterion::poisson && !(treatment.n_arms > 0 && has_shares()))
            set_centers(total);
        for (int64_t row = 0; row < n_rows && !is_classes(); ++row)
            for (int o = 0; o < n_outputs; ++o)
                largest = std::max(
                    largest, std::abs(numbers[row * n_outputs + o] - center[o]) * weight_of(static_cast<Row>(row)));
        if (n_draws > 0) total = heaviest * static_cast<double>(n_draws);
        weight_scale = whole && total < 0x1p61 ? 1 : room_for(total);
        sum_scale = room_for(largest * static_cast<double>(std::max(n_rows, n_draws)));
        is_packable = is_binary() && whole && total <= packed_most && static_cast<double>(n_rows) <= packed_most;
    }

    static constexpr int packed_field = 21;
    static constexpr double packed_most = (1 << packed_field) - 1;
    bool is_packable = false;

  private:
    bool has_shares() const {
        return std::all_of(numbers, numbers + n_rows * n_outputs, [](double y) { return y == 0 || y == 1; });
    }
    void set_centers(double total) {
        for (int64_t row = 0; row < n_rows; ++row)
            for (int o = 0; o < n_outputs; ++o)
                center[o] += numbers[row * n_outputs + o] * (weight_of(static_cast<Row>(row)) / total);
        // Rounded, so that the order in which rows are added does not matter.
        for (double& c : center)
            c = std::isfinite(c) && c != 0
                    ? std::ldexp(std::rint(std::ldexp(c, 12 - std::ilogb(c))), std::ilogb(c) - 12)
                    : 0.0;
    }
    static double room_for(double total) {
        return total > 0 ? std::ldexp(1.0, std::min(60 - std::ilogb(total), 1000)) : 1.0;
    }
};

// ---- statistics --------------------------------------------------------------------------------------------------

template <Criterion criterion>
class PackedBinary {
  public:
    static constexpr int field = Target::packed_field;
    static constexpr uint64_t most = (uint64_t{1} << field) - 1;

    struct Stat {
        uint64_t packed;
        Row row;
    };
    using Word = uint64_t;
    using Sum = std::array<Word, 1>;

    explicit PackedBinary(const Target& target) : target_(target) {}

    static constexpr int words() { return 1; }
    static Sum zero() { return {}; }
    Stat stat(Row row, int64_t copies) const {
        uint64_t w = static_cast<uint64_t>(copies * target_.fixed_weight(row));
        return {uint64_t{1} << 2 * field | (target_.classes[row] != 0 ? w << field : 0) | w, row};
    }
    [[gnu::always_inline]] static void add(const Stat& e, Word* sum) { *sum += e.packed; }
    // Adds if `wanted`, without a branch.
    [[gnu::always_inline]] static void add_if(bool wanted, const Stat& e, Word* sum) {
        *sum += e.packed & -static_cast<uint64_t>(wanted);
    }
    static int64_t rows(const Word* sum) { return static_cast<int64_t>(*sum >> 2 * field); }
    static double weight(const Word* sum) { return static_cast<double>(*sum & most); }
    static double ones(const Word* sum) { return static_cast<double>(*sum >> field & most); }

    bool is_pure(const Word* total, const auto*, int64_t) const {
        return ones(total) == 0 || ones(total) == weight(total);
    }

    struct Gain {
        PairGain<criterion> pair;
        Gain(const PackedBinary&, const Word* total) : pair(weight(total), ones(total)) {}
        double operator()(const Word* left) const { return pair(weight(left), ones(left)); }
    };

    double mean(const Word*, int) const { return 0; }
    // Weight of the classes that a leaf keeps.
    void class_sums(const Word* sum, double* out) const { *out = ones(sum) / target_.weight_scale; }
    int n_orders() const { return 1; }
    double order_key(const Word* sum, int) const { return ones(sum) / weight(sum); }
    double value(const Word* sum) const { return ones(sum) / weight(sum); }

  private:
    const Target& target_;
};

template <Criterion criterion>
class Moments {
  public:
    struct Stat {
        int64_t weight, sum;
        Row row;
    };
    using Word = int64_t;
    using Sum = std::array<Word, 3>;

    explicit Moments(const Target& target) : target_(target) {}

    static constexpr int words() { return 3; }
    static Sum zero() { return {}; }
    Stat stat(Row row, int64_t copies) const {
        int64_t w = target_.fixed_weight(row);
        return {copies * w, copies * (target_.is_classes() ? w * target_.classes[row] : target_.fixed_sum(row, 0)),
                row};
    }
    [[gnu::always_inline]] static void add(const Stat& e, Word* sum) {
        sum[0] += 1;
        sum[1] += e.weight;
        sum[2] += e.sum;
    }
    [[gnu::always_inline]] static void add_if(bool wanted, const Stat& e, Word* sum) {
        const int64_t mask = -static_cast<int64_t>(wanted);
        sum[0] += wanted;
        sum[1] += e.weight & mask;
        sum[2] += e.sum & mask;
    }
    static int64_t rows(const Word* sum) { return sum[0]; }
    static double weight(const Word* sum) { return static_cast<double>(sum[1]); }
    static double total(const Word* sum) { return static_cast<double>(sum[2]); }

    bool is_pure(const Word* total, const auto* entries, int64_t n) const {
        if (target_.is_classes()) return total[2] == 0 || total[2] == total[1];
        double first = target_.numbers[entries[0].row];
        for (int64_t i = 1; i < n; ++i)
            if (target_.numbers[entries[i].row] != first) return false;
        return true;
    }

    struct Gain {
        PairGain<criterion> pair;
        Gain(const Moments&, const Word* sum) : pair(weight(sum), total(sum)) {}
        double operator()(const Word* left) const { return pair(weight(left), total(left)); }
    };

    void class_sums(const Word* sum, double* out) const { *out = total(sum) / target_.weight_scale; }
    // Mean of an output of a leaf, from its exact sums.
    double mean(const Word* sum, int) const {
        return target_.center[0] + (total(sum) / target_.sum_scale) / (weight(sum) / target_.weight_scale);
    }
    int n_orders() const { return 1; }
    double order_key(const Word* sum, int) const { return weight(sum) > 0 ? total(sum) / weight(sum) : 0; }
    double value(const Word* sum) const { return total(sum) / weight(sum); }

  private:
    const Target& target_;
};

// Absolute error: sums do not tell it, the rows of a side must be ranked (medians.hpp).
class Medians : public Moments<Criterion::squared_error> {
  public:
    using Ranking = MedianGains;

    explicit Medians(const Target& target) : Moments(target), target_(target) {}

    double number(Row row) const { return target_.numbers[row]; }
    double weight_of(const Stat& stat) const { return static_cast<double>(stat.weight) / target_.weight_scale; }

  private:
    const Target& target_;
};

// Many classes or outputs: as many lanes as the target has classes, or outputs.
class Lanes {
  public:
    struct Stat {
        int64_t weight;
        int32_t copies;
        Row row;
    };
    using Word = int64_t;
    using Sum = std::vector<Word>;

    explicit Lanes(const Target& target) : target_(target) {
        int next = 2;
        for (int o = 0; o < target.n_outputs; ++o) {
            first_.push_back(next);
            next += target.is_classes() ? target.n_classes[o] : 1;
        }
        first_.push_back(next);
    }

    int words() const { return first_.back(); }
    Sum zero() const { return Sum(words(), 0); }
    Stat stat(Row row, int64_t copies) const {
        return {copies * target_.fixed_weight(row), static_cast<int32_t>(copies), row};
    }
    void add(const Stat& e, Word* sum) const {
        sum[0] += 1;
        sum[1] += e.weight;
        for (int o = 0; o < target_.n_outputs; ++o)
            if (target_.is_classes())
                sum[first_[o] + target_.classes[static_cast<int64_t>(e.row) * target_.n_outputs + o]] += e.weight;
            else
                sum[first_[o]] += e.copies * target_.fixed_sum(e.row, o);
    }
    void add_if(bool wanted, const Stat& e, Word* sum) const {
        if (wanted) add(e, sum);
    }
    static int64_t rows(const Word* sum) { return sum[0]; }
    static double weight(const Word* sum) { return static_cast<double>(sum[1]); }

    bool is_pure(const Word* total, const auto* entries, int64_t n) const {
        if (target_.is_classes()) {
            int classes = 0;
            for (int lane = 2; lane < words(); ++lane) classes += total[lane] != 0;
            return classes <= target_.n_outputs;
        }
        const double* y = target_.numbers;
        const int q = target_.n_outputs;
        for (int64_t i = 1; i < n; ++i)
            for (int o = 0; o < q; ++o)
                if (y[static_cast<int64_t>(entries[i].row) * q + o] != y[static_cast<int64_t>(entries[0].row) * q + o])
                    return false;
        return true;
    }

    // score(left) + score(right) − score(all), with impurity·weight = constant − score.
    struct Gain {
        const Lanes& lanes;
        const Word* total;
        double parent;

        Gain(const Lanes& lanes, const Word* total) : lanes(lanes), total(total), parent(lanes.score(total, nullptr)) {}
        double operator()(const Word* left) const {
            return lanes.score(left, nullptr) + lanes.score(total, left) - parent;
        }
    };

    double mean(const Word* sum, int output) const {
        const double total = static_cast<double>(sum[first_[output]]) / target_.sum_scale;
        return target_.center[output] + total / (weight(sum) / target_.weight_scale);
    }
    void class_sums(const Word* sum, double* out) const {
        for (int i = 2; i < words(); ++i) out[i - 2] = static_cast<double>(sum[i]) / target_.weight_scale;
    }
    // Categories are ordered by the share of each of the classes (or by each output's mean): at most eight orders.
    int n_orders() const { return std::min(words() - 2, 8); }
    double order_key(const Word* sum, int k) const {
        return weight(sum) > 0 ? static_cast<double>(sum[2 + k]) / weight(sum) : 0;
    }

  private:
    double score(const Word* sum, const Word* less) const {
        auto at = [&](int i) { return static_cast<double>(less != nullptr ? sum[i] - less[i] : sum[i]); };
        const double w = at(1);
        double score = 0;
        EntropyTerm term;
        switch (target_.criterion) {
            case Criterion::entropy:
                for (int i = 2; i < words(); ++i) score += term(at(i));
                return score - target_.n_outputs * term(w);
            case Criterion::poisson:
                for (int i = 2; i < words(); ++i) score += at(i) > 0 ? at(i) * std::log(at(i) / w) : 0;
                return score;
            default:
                for (int i = 2; i < words(); ++i) score += at(i) * at(i);
                return score / w;
        }
    }

    const Target& target_;
    std::vector<int> first_;
};

}  // namespace arboretum
