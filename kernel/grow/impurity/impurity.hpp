// What trees of impurity sum up over their rows, and how good a cut is.
//
// A Statistics says what a row adds to the sum of a node, a bin or a side of a cut. Sums are words of 64 bits, integers
// all, hence exact: the order of the rows, and which thread adds them, cannot matter.
//
//   PackedBinary   2 classes, whole weights      1 word    rows │ weight of class 1 │ weight     21 bits each
//   CountedMoments a number, whole weights       2 words   rows │ Σ weight, Σ weight·y           32 bits each, fixed point
//   Moments        a number, or 2 classes        3 words   rows, Σ weight, Σ weight·y            fixed point
//   Medians        a number, absolute error      the same, but gains come from ranks (medians.hpp)
//   LogRank        a time, perhaps censored      the same, Σ weight of events in place of y (log_rank.hpp)
//   Lanes          many classes, many outputs    2 + n     rows, Σ weight, one lane per class or output
//   Arms           outcomes of treated rows      3 per arm see uplift.hpp
//
// The gain of a cut is the fall of impurity times weight, W·i(t) − L·i(left) − R·i(right) (Breiman et al. 1984, §4.3).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/simd.hpp"
#include "grow/impurity/medians.hpp"
#include "grow/impurity/target.hpp"
#include "grow/row_numbers.hpp"

namespace arboretum {

// x·ln x, from a table for small whole numbers: a cut costs six of them. Trap: the difference of two rounded sums may
// lie below 0, and be whole.
class EntropyTerm {
  public:
    double operator()(double x) const {
        if (x <= 0) return 0;
        if (x < size && x == std::floor(x)) return table_[static_cast<size_t>(x)];
        return x * std::log(x);
    }

  private:
    static constexpr int size = 4096;

    // Made while the library is loaded: see pool_ in parallel.cpp.
    static inline const std::array<double, size> table_ = [] {
        std::array<double, size> terms{};
        for (int i = 1; i < size; ++i) terms[i] = i * std::log(static_cast<double>(i));
        return terms;
    }();
};

// Gains from the weight of a side and its sum of a number (for 0 and 1, the weight of class 1).
//
//   variance (squared_error; gini is twice it):  W (s − l·S/W)² / (l·r)
//   entropy:  Σ over sides of  −s ln(s/l) − (l−s) ln((l−s)/l)
//   poisson:  s ln(s/l) + (S−s) ln((S−s)/r) − S ln(S/W), sides with s = 0 excluded
class PairGain {
  public:
    PairGain(Criterion criterion, double weight, double sum)
        : criterion_(criterion),
          needs_logarithms_(criterion == Criterion::entropy || criterion == Criterion::poisson),
          factor_(criterion == Criterion::gini ? 2 : 1),
          weight_(weight),
          sum_(sum) {
        if (criterion == Criterion::entropy) parent_ = disorder(weight, sum);
        if (criterion == Criterion::poisson) parent_ = poisson(weight, sum);
    }

    [[gnu::always_inline]] double operator()(double w, double s) const {
        return needs_logarithms_ ? logarithmic(w, s) : variance(w, s);
    }

    // Gains of many cuts; whether one of them is above `bar`. Without a branch per cut, so that vectors compute them.
    bool any_above(double bar, const double* w, const double* s, int64_t n, double* gains) const {
        const PairGain gain = *this;  // which `gains` cannot overlap
        if (needs_logarithms_)
            for (int64_t i = 0; i < n; ++i) gains[i] = gain.logarithmic(w[i], s[i]);
        else {
            ARBORETUM_INDEPENDENT
            for (int64_t i = 0; i < n; ++i) gains[i] = gain.variance(w[i], s[i]);
        }
        int64_t above = 0;
        for (int64_t i = 0; i < n; ++i) above += gains[i] > bar;
        return above > 0;
    }

  private:
    [[gnu::always_inline]] double variance(double w, double s) const {
        const double apart = s * weight_ - w * sum_;
        return apart * apart / (w * (weight_ - w) * weight_) * factor_;
    }
    // A call costs nothing beside the logarithms, and keeps the loops over cuts short.
    [[gnu::noinline]] double logarithmic(double w, double s) const {
        if (criterion_ == Criterion::entropy) return parent_ - disorder(w, s) - disorder(weight_ - w, sum_ - s);
        return s > 0 && sum_ - s > 0 ? poisson(w, s) + poisson(weight_ - w, sum_ - s) - parent_ : -infinity;
    }
    static double disorder(double w, double s) {
        EntropyTerm term;
        return term(w) - term(s) - term(w - s);
    }
    static double poisson(double w, double s) { return s > 0 ? s * std::log(s / w) : 0; }

    Criterion criterion_;
    bool needs_logarithms_;
    double factor_, weight_, sum_, parent_ = 0;
};

// ---- statistics --------------------------------------------------------------------------------------------------

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
    static double total(const Word* sum) { return ones(sum); }

    bool is_pure(const Word* total, const RowNumbers&) const {
        return ones(total) == 0 || ones(total) == weight(total);
    }

    struct Gain {
        PairGain pair;
        Gain(const PackedBinary& of, const Word* total) : pair(of.target_.criterion, weight(total), ones(total)) {}
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

// counted: weights are whole, and rows are counted in the upper half of the word that holds their weight.
template <bool counted>
class MomentsOf {
  public:
    struct Stat {
        int64_t weight, sum;
        Row row;
    };
    using Word = int64_t;
    using Sum = std::array<Word, counted ? 2 : 3>;

    explicit MomentsOf(const Target& target) : target_(target) {}

    static constexpr int words() { return counted ? 2 : 3; }
    static Sum zero() { return {}; }
    Stat stat(Row row, int64_t copies) const {
        int64_t w = target_.fixed_weight(row);
        return {copies * w + (counted ? one_row : 0),
                copies * (target_.is_classes() ? w * target_.classes[row] : target_.fixed_sum(row, 0)), row};
    }
    [[gnu::always_inline]] static void add(const Stat& e, Word* sum) {
        if constexpr (!counted) sum[2] += 1;
        Pair pair, more;  // in one vector
        std::memcpy(&pair, sum, sizeof pair);
        std::memcpy(&more, &e, sizeof more);
        pair += more;
        std::memcpy(sum, &pair, sizeof pair);
    }
    [[gnu::always_inline]] static void add_if(bool wanted, const Stat& e, Word* sum) {
        const int64_t mask = -static_cast<int64_t>(wanted);
        if constexpr (!counted) sum[2] += wanted;
        sum[0] += e.weight & mask;
        sum[1] += e.sum & mask;
    }
    static int64_t rows(const Word* sum) { return counted ? sum[0] >> Target::counted_field : sum[counted ? 0 : 2]; }
    static int64_t whole_weight(const Word* sum) { return counted ? sum[0] & (one_row - 1) : sum[0]; }
    static double weight(const Word* sum) { return static_cast<double>(whole_weight(sum)); }
    static double total(const Word* sum) { return static_cast<double>(sum[1]); }

    bool is_pure(const Word* total, const RowNumbers& rows) const {
        if (target_.is_classes()) return total[1] == 0 || total[1] == whole_weight(total);
        double first = target_.numbers[rows[0]];
        for (int64_t i = 1; i < rows.size(); ++i)
            if (target_.numbers[rows[i]] != first) return false;
        return true;
    }

    struct Gain {
        PairGain pair;
        Gain(const MomentsOf& of, const Word* sum) : pair(of.target_.criterion, weight(sum), total(sum)) {}
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
    using Pair = int64_t __attribute__((vector_size(16)));
    static constexpr int64_t one_row = int64_t{1} << Target::counted_field;

    const Target& target_;
};

using Moments = MomentsOf<false>;
using CountedMoments = MomentsOf<true>;

// Absolute error: sums do not tell it, the rows of a side must be ranked (medians.hpp).
class Medians : public Moments {
  public:
    using Ranking = MedianGains;

    explicit Medians(const Target& target) : Moments(target), target_(target) {}

    int64_t fixed_number(Row row) const { return target_.fixed_number(row); }
    std::pair<double, double> scales() const { return {target_.weight_scale, target_.number_scale}; }

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

    bool is_pure(const Word* total, const RowNumbers& rows) const {
        if (target_.is_classes()) {
            int classes = 0;
            for (int lane = 2; lane < words(); ++lane) classes += total[lane] != 0;
            return classes <= target_.n_outputs;
        }
        const double* y = target_.numbers;
        const int q = target_.n_outputs;
        for (int64_t i = 1; i < rows.size(); ++i)
            for (int o = 0; o < q; ++o)
                if (y[static_cast<int64_t>(rows[i]) * q + o] != y[static_cast<int64_t>(rows[0]) * q + o]) return false;
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

// ---- kinds of statistics -----------------------------------------------------------------------------------------

// Whether nodes take something from their parent, besides rows (uplift.hpp).
template <class Statistics>
concept Inheriting = requires { typename Statistics::Inherited; };

template <class Statistics>
struct InheritedBy {
    struct type {};
};
template <Inheriting Statistics>
struct InheritedBy<Statistics> {
    using type = typename Statistics::Inherited;
};

// Whether gains come from the rows of the sides, not from their sums.
template <class Statistics>
concept RanksRows = requires { typename Statistics::Ranking; };

template <class Statistics>
struct RankingOf {
    struct type {};
};
template <RanksRows Statistics>
struct RankingOf<Statistics> {
    using type = typename Statistics::Ranking;
};

}  // namespace arboretum
