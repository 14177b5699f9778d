// From the histogram of one feature to its best condition. The gain is that of XGBoost (Chen & Guestrin 2016, eq. 7):
//
//   gain = ½ [ score(G_L, H_L) + score(G_R, H_R) − score(G, H) ],   score(G, H) = soft(G)² / (H + λ)
//
// with soft(G) = sign(G) · max(|G| − α, 0). With bounds on leaf values (monotone constraints, max_delta_step) the leaf
// takes w = clip(−soft(G) / (H + λ)) and scores −(2Gw + (H + λ)w² + 2α|w|), which is the same thing when nothing clips.
#pragma once

#include <cmath>

#include "lanes.hpp"
#include "simd.hpp"
#include "types.hpp"

namespace arboretum {

// Gains are compared by their first 17 bits, so that candidates which tie in exact arithmetic tie here too, whatever
// rounding their sums went through; the first in order wins.
[[gnu::always_inline]] inline double comparable(double gain) {
    uint64_t bits;
    std::memcpy(&bits, &gain, 8);
    bits &= ~0ull << 36;
    std::memcpy(&gain, &bits, 8);
    return gain;
}

struct LeafRule {
    double l1 = 0, l2 = 0;
    double lower = -infinity, upper = infinity;

    double denominator(double hessian) const { return std::max(hessian + l2, 1e-300); }
    double soft(double gradient) const {
        double size = std::abs(gradient) - l1;
        return size > 0 ? std::copysign(size, gradient) : 0.0;
    }
    double value(double gradient, double hessian) const {
        return std::clamp(-soft(gradient) / denominator(hessian), lower, upper);
    }
    double score_of(double value, double gradient, double hessian) const {
        return -(2 * gradient * value + denominator(hessian) * value * value + 2 * l1 * std::abs(value));
    }
    double score(double gradient, double hessian) const {
        return score_of(value(gradient, hessian), gradient, hessian);
    }
    bool bounded() const { return lower > -infinity || upper < infinity; }
};

inline LeafRule leaf_rule(const TreeParams& params) {
    LeafRule rule{params.l1, params.l2};
    if (params.max_delta_step > 0) {
        rule.lower = -params.max_delta_step;
        rule.upper = params.max_delta_step;
    }
    return rule;
}

// A gain below this share of the node's own score is rounding.
constexpr double rounding_share = 1e-10;

// What is known of a node when its features are searched.
struct NodeFacts {
    WideSum total;
    int64_t n_rows;
    LeafRule rule;  // with the bounds of this node
};

struct FeatureBest {
    double gain = -infinity;
    double score = -infinity;  // of a condition that a level shares: its gain or cosine
    bool certain = true;       // the rows on both sides are known to be enough
    bool missing_left = false;
    Code threshold = 0;    // of a number: the last code on the left
    Code first_right = 0;  // the first code with rows on the right; 0: not looked for
    WideSum left;
    std::vector<Code> left_codes;  // category conditions
};

// The histogram of one feature in a node, dense (codes is null: entry i is code i) or compact (only codes that occur).
struct BinView {
    int64_t n = 0;
    const double* gradient = nullptr;  // sums of the entries before and including i, in real units
    const double* hessian = nullptr;
    const int64_t* rows = nullptr;  // likewise, or null when unknown
    const Code* codes = nullptr;
    double missing_gradient = 0, missing_hessian = 0;
    int64_t missing_rows = 0;
    bool has_missing = false;
};

struct CutRule {
    double gradient, hessian;  // of the node
    double parent_score;
    double min_child_weight;  // never 0: the sum of a side without rows is 0 but for rounding
    double min_rows, n_rows;
    LeafRule leaf;
    int monotone;

    // Whether so much hessian belongs to fewer rows than a leaf must have, as far as hessians tell (but for rounding).
    bool is_rare(double of_rows) const { return min_rows > 1 && of_rows * n_rows < (1 - 1e-6) * min_rows * hessian; }
};

// Gains of the cuts after each entry: out[i] for "entries 0 … i go left"; −inf where a rule forbids the cut.
// Sums are shifted by (shift_g, shift_h, shift_rows): missing values that go left. Fully vectorised.
ARBORETUM_CLONES inline void cut_gains(const double* gradient, const double* hessian, int64_t n, double shift_g,
                                       double shift_h, const CutRule& rule, double* out) {
    const double l1 = rule.leaf.l1, l2 = rule.leaf.l2, least = rule.min_child_weight;
    const double G = rule.gradient, H = rule.hessian, parent = rule.parent_score;
    for (int64_t i = 0; i < n; ++i) {
        double gl = gradient[i] + shift_g, hl = hessian[i] + shift_h;
        double gr = G - gl, hr = H - hl;
        double sl = std::abs(gl) - l1, sr = std::abs(gr) - l1;
        sl = sl > 0 ? sl : 0;
        sr = sr > 0 ? sr : 0;
        double dl = hl + l2, dr = hr + l2;
        dl = dl > 1e-300 ? dl : 1e-300;
        dr = dr > 1e-300 ? dr : 1e-300;
        double gain = 0.5 * ((sl * sl * dr + sr * sr * dl) / (dl * dr) - parent);  // one division
        bool allowed = (hl >= least) & (hr >= least);
        out[i] = allowed ? gain : -infinity;
    }
}

// The same where leaf values are bounded or must be in order.
inline void bounded_cut_gains(const double* gradient, const double* hessian, int64_t n, double shift_g, double shift_h,
                              const CutRule& rule, double* out) {
    for (int64_t i = 0; i < n; ++i) {
        double gl = gradient[i] + shift_g, hl = hessian[i] + shift_h;
        double gr = rule.gradient - gl, hr = rule.hessian - hl;
        double left = rule.leaf.value(gl, hl), right = rule.leaf.value(gr, hr);
        double gain = 0.5 * (rule.leaf.score_of(left, gl, hl) + rule.leaf.score_of(right, gr, hr) - rule.parent_score);
        bool ordered = rule.monotone == 0 || (rule.monotone > 0 ? left <= right : left >= right);
        bool allowed = hl >= rule.min_child_weight && hr >= rule.min_child_weight && ordered;
        out[i] = allowed ? gain : -infinity;
    }
}

// Rows only rise: the cuts that leave too few on one side lie at the two ends.
inline void forbid_small_sides(const int64_t* rows, int64_t n, int64_t shift, const CutRule& rule, double* out) {
    auto too_few = [&](int64_t i) {
        double left = static_cast<double>(rows[i] + shift);
        return left < rule.min_rows || rule.n_rows - left < rule.min_rows;
    };
    int64_t first = 0, last = n;
    while (first < last && too_few(first)) out[first++] = -infinity;
    while (last > first && too_few(last - 1)) out[--last] = -infinity;
}

// The bits that count in a comparison, as an integer that orders positive gains; 0 for all others.
[[gnu::always_inline]] inline int32_t gain_key(double gain) {
    int64_t bits;
    std::memcpy(&bits, &gain, 8);
    return gain > 0 ? static_cast<int32_t>(bits >> 36) : 0;
}

// Index of the first maximum as far as gains are comparable, or −1 if none is positive. Keys are integers because their
// maximum may be taken in any order, hence by vectors.
ARBORETUM_CLONES inline int64_t first_maximum(const double* gains, int64_t n) {
    constexpr int64_t block = 256;
    int32_t keys[block], top = 0;
    int64_t first = -1;
    for (int64_t begin = 0; begin < n; begin += block) {
        const int64_t m = n - begin < block ? n - begin : block;
        int32_t highest = 0;
        for (int64_t i = 0; i < m; ++i) {
            keys[i] = gain_key(gains[begin + i]);
            highest = keys[i] > highest ? keys[i] : highest;
        }
        if (highest <= top) continue;
        top = highest;
        for (first = 0; keys[first] != top; ++first) {
        }
        first += begin;
    }
    return first;
}

inline CutRule cut_rule(const NodeFacts& node, const LaneScale& scale, const TreeParams& params, int monotone) {
    double G = scale.gradient_of(node.total), H = scale.hessian_of(node.total);
    return {G,
            H,
            node.rule.score(G, H),
            std::max(params.min_child_weight * (1 - 1e-9), 1e-13 * H),
            static_cast<double>(params.min_samples_leaf),
            static_cast<double>(node.n_rows),
            node.rule,
            monotone};
}

// Gains of all cuts of a view with missing values on one side; returns how many cuts there are.
// With missing values on the right, "all values left, missing right" is a cut as well.
inline int64_t view_gains(const BinView& view, bool missing_left, const CutRule& rule, double* out) {
    int64_t n = view.n - (missing_left || !view.has_missing ? 1 : 0);
    if (n <= 0) return 0;
    double shift_g = missing_left ? view.missing_gradient : 0, shift_h = missing_left ? view.missing_hessian : 0;
    if (rule.monotone != 0 || rule.leaf.bounded())
        bounded_cut_gains(view.gradient, view.hessian, n, shift_g, shift_h, rule, out);
    else
        cut_gains(view.gradient, view.hessian, n, shift_g, shift_h, rule, out);
    if (view.rows != nullptr && rule.min_rows > 1)
        forbid_small_sides(view.rows, n, missing_left ? view.missing_rows : 0, rule, out);
    return n;
}

// How well leaf values agree with the gradients of a level: their product with them and their own square, over leaves.
//
//   product = −Σ G w,   square = Σ H w²,   cosine = product / √square
//
// the cosine of the angle between gradients and leaf values, row by row, times the length of the gradients, which is
// that of all cuts (Prokhorenkova et al. 2018, algorithm 2). With λ = α = 0 it orders cuts as the gain does; λ costs
// small leaves gain, but a factor that all leaves have in common costs no cosine.
struct Agreement {
    double product = 0, square = 0;

    void add(const LeafRule& leaf, double gradient, double hessian) {
        double value = leaf.value(gradient, hessian);
        product -= gradient * value;
        square += hessian * value * value;
    }
    double cosine() const { return square > 0 ? product / std::sqrt(square) : 0.0; }
};

// Adds the agreement of the two sides of each cut, of the node as it is where the gain of the cut is −inf.
ARBORETUM_CLONES inline void add_agreements(const BinView& view, bool missing_left, const CutRule& rule,
                                            const double* gains, double* product, double* square) {
    const double shift_g = missing_left ? view.missing_gradient : 0, shift_h = missing_left ? view.missing_hessian : 0;
    const LeafRule leaf = rule.leaf;
    Agreement whole;
    whole.add(leaf, rule.gradient, rule.hessian);
    for (int64_t i = 0; i < view.n; ++i) {
        Agreement sides;
        double gl = view.gradient[i] + shift_g, hl = view.hessian[i] + shift_h;
        sides.add(leaf, gl, hl);
        sides.add(leaf, rule.gradient - gl, rule.hessian - hl);
        bool allowed = gains[i] > -infinity;
        product[i] += allowed ? sides.product : whole.product;
        square[i] += allowed ? sides.square : whole.square;
    }
}

struct NumericCut {
    double gain = -infinity;
    int64_t entry = -1;
    bool missing_left = false;
};

inline NumericCut find_numeric(const BinView& view, const CutRule& rule, double* scratch) {
    NumericCut best;
    for (bool missing_left : {false, true}) {
        if (missing_left && !view.has_missing) break;
        int64_t n = view_gains(view, missing_left, rule, scratch);
        if (missing_left)  // a cut before the first value is "all values right": offered once, the other way round
            for (int64_t i = 0; i < n && view.gradient[i] == 0 && view.hessian[i] == 0; ++i) scratch[i] = -infinity;
        int64_t entry = n > 0 ? first_maximum(scratch, n) : -1;
        if (entry >= 0 && comparable(scratch[entry]) > best.gain)
            best = {comparable(scratch[entry]), entry, missing_left};
    }
    return best;
}

// A category that occurs in the node.
struct CategoryBin {
    Code code;  // n_bins: missing
    WideSum sum;
    double gradient, hessian;
    int64_t rows;
};

// Best subset of categories. Few categories: each against the rest. Many: sorted by gradient / (hessian + smoothing),
// where for a convex loss the best subset is a prefix (Fisher 1958; Breiman et al. 1984, §4.2.2); prefixes from either
// end up to max_category_set, with an extra l2 against overfitting small groups. Categories with fewer rows than a leaf
// must have (judged by their hessians) stay out of the order, hence on the right: their means are noise.
class CategoryFinder {
  public:
    CategoryFinder(const CutRule& rule, const TreeParams& params, bool rows_known)
        : rule_(rule), params_(params), rows_known_(rows_known) {}

    FeatureBest find(std::vector<CategoryBin>& bins, Code n_categories) {
        best_ = FeatureBest{};
        if (static_cast<int>(n_categories) <= params_.max_onehot)
            one_against_rest(bins);
        else
            prefixes(bins);
        return std::move(best_);
    }

  private:
    void one_against_rest(const std::vector<CategoryBin>& bins) {
        for (const CategoryBin& bin : bins)
            if (offer(bin.gradient, bin.hessian, bin.rows, 0.0)) {
                best_.left = bin.sum;
                best_.left_codes = {bin.code};
            }
    }

    void prefixes(std::vector<CategoryBin>& bins) {
        std::erase_if(bins, [&](const CategoryBin& b) { return rule_.is_rare(b.hessian); });
        auto key = [&](const CategoryBin& b) { return b.gradient / (b.hessian + params_.category_smoothing); };
        std::sort(bins.begin(), bins.end(), [&](const CategoryBin& a, const CategoryBin& b) {
            return key(a) != key(b) ? key(a) < key(b) : a.code < b.code;
        });
        int64_t n = static_cast<int64_t>(bins.size());
        int64_t longest = std::min<int64_t>(params_.max_category_set, n - 1);
        for (bool from_end : {false, true}) {
            CategoryBin sum{};
            for (int64_t i = 0; i < longest; ++i) {
                const CategoryBin& bin = bins[from_end ? n - 1 - i : i];
                sum.sum += bin.sum;
                sum.gradient += bin.gradient;
                sum.hessian += bin.hessian;
                sum.rows += bin.rows;
                if (!offer(sum.gradient, sum.hessian, sum.rows, params_.category_l2)) continue;
                best_.left = sum.sum;
                best_.left_codes.clear();
                for (int64_t k = 0; k <= i; ++k) best_.left_codes.push_back(bins[from_end ? n - 1 - k : k].code);
            }
        }
    }

    bool offer(double gl, double hl, int64_t rows, double extra_l2) {
        double gr = rule_.gradient - gl, hr = rule_.hessian - hl;
        if (hl < rule_.min_child_weight || hr < rule_.min_child_weight) return false;
        if (rows_known_ && (rows < rule_.min_rows || rule_.n_rows - static_cast<double>(rows) < rule_.min_rows))
            return false;
        LeafRule leaf = rule_.leaf;
        leaf.l2 += extra_l2;
        double gain = 0.5 * (leaf.score(gl, hl) + leaf.score(gr, hr) - rule_.parent_score);
        gain = comparable(gain);
        if (!(gain > best_.gain)) return false;
        best_.gain = gain;
        return true;
    }

    const CutRule& rule_;
    const TreeParams& params_;
    bool rows_known_;
    FeatureBest best_;
};

}  // namespace arboretum
