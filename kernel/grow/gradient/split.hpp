// From the histogram of one feature to its best condition. The gain is that of XGBoost (Chen & Guestrin 2016, eq. 7):
//
//   gain = ½ [ score(G_L, H_L) + score(G_R, H_R) − score(G, H) ],   score(G, H) = soft(G)² / (H + λ)
//
// with soft(G) = sign(G) · max(|G| − α, 0). With bounds on leaf values (monotone constraints, max_delta_step) the leaf
// takes w = clip(−soft(G) / (H + λ)) and scores −(2Gw + (H + λ)w² + 2α|w|), which is the same thing when nothing clips.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/types.hpp"
#include "grow/bounds.hpp"
#include "grow/gradient/lanes.hpp"

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
    Bounds bounds;

    double denominator(double hessian) const { return std::max(hessian + l2, 1e-300); }
    double soft(double gradient) const {
        double size = std::abs(gradient) - l1;
        return size > 0 ? std::copysign(size, gradient) : 0.0;
    }
    double value(double gradient, double hessian) const { return bounds.clip(-soft(gradient) / denominator(hessian)); }
    double score_of(double value, double gradient, double hessian) const {
        return -(2 * gradient * value + denominator(hessian) * value * value + 2 * l1 * std::abs(value));
    }
    double score(double gradient, double hessian) const {
        return score_of(value(gradient, hessian), gradient, hessian);
    }
};

inline LeafRule leaf_rule(const TreeParams& params) {
    LeafRule rule{params.l1, params.l2, {}};
    if (params.max_delta_step > 0) rule.bounds = {-params.max_delta_step, params.max_delta_step};
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
    const int64_t* rows = nullptr;  // likewise, or null
    double rows_per_hessian = 0;    // if hessians count rows; else 0, and rows are unknown without the array
    const Code* codes = nullptr;
    double missing_gradient = 0, missing_hessian = 0;
    int64_t missing_rows = 0;
    bool has_missing = false;

    bool rows_known() const { return rows != nullptr || rows_per_hessian > 0; }
    // Up to rounding: whole numbers are compared with halves between them.
    double rows_up_to(int64_t i) const {
        return rows != nullptr ? static_cast<double>(rows[i]) : hessian[i] * rows_per_hessian;
    }
};

struct CutRule {
    double gradient, hessian;  // of the node
    double parent_score;
    double min_child_weight;  // never 0: the sum of a side without rows is 0 but for rounding
    double min_rows, n_rows;
    LeafRule leaf;
    int monotone;

    // Whether this hessian belongs to fewer rows than a leaf must have, as far as hessians tell, up to rounding.
    bool is_rare(double of_rows) const { return min_rows > 1 && of_rows * n_rows < (1 - 1e-6) * min_rows * hessian; }
};

// The bits that count in a comparison, as an integer that orders positive gains; 0 for all others.
[[gnu::always_inline]] inline int32_t gain_key(double gain) {
    int64_t bits;
    std::memcpy(&bits, &gain, 8);
    return gain > 0 ? static_cast<int32_t>(bits >> 36) : 0;
}

// Index of the first maximum as far as gains are comparable, or −1 if none is positive.
int64_t first_maximum(const double* gains, int64_t n);

// Gains of the cuts after each entry: out[i] for "entries 0 … i go left"; −inf where a rule forbids the cut. Without
// bounds on leaf values. Sums are shifted by (shift_g, shift_h): missing values that go left.
void cut_gains(const double* gradient, const double* hessian, int64_t n, double shift_g, double shift_h,
               const CutRule& rule, double* out);

CutRule cut_rule(const NodeFacts& node, const LaneScale& scale, const TreeParams& params, int monotone);

// The cuts of a view, with missing values on one side, that leave enough rows on both sides as far as rows are known.
// With missing values on the right, "all values left, missing right" is a cut as well.
struct CutRange {
    int64_t first, last;
};
CutRange cut_range(const BinView& view, bool missing_left, const CutRule& rule);

// Gains of the cuts first … last − 1. Reads and writes up to a vector (cuts_at_once) behind them: searches of few cuts
// would spend most of their time on what is left after the last whole vector.
void view_gains(const BinView& view, bool missing_left, const CutRule& rule, const CutRange& cuts, double* out);

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

// Adds the agreement of the two sides of each cut; where the gain of the cut is −inf, that of the node itself.
void add_agreements(const BinView& view, bool missing_left, const CutRule& rule, const double* gains, double* product,
                    double* square);

struct NumericCut {
    double gain = -infinity;
    int64_t entry = -1;
    bool missing_left = false;
};

NumericCut find_numeric(const BinView& view, const CutRule& rule, double* scratch);

// A category that occurs in the node.
struct CategoryBin {
    Code code;  // n_bins: missing
    WideSum sum;
    double gradient, hessian;
    int64_t rows;
    double key = 0;  // what orders categories, and breaks ties between them
    Code rank = 0;

    bool operator<(const CategoryBin& o) const { return key != o.key ? key < o.key : rank < o.rank; }
};

// Best subset of categories. Few categories: each against the rest. Many: sorted by gradient / (hessian + smoothing),
// where for a convex loss the best subset is a prefix (Fisher 1958; Breiman et al. 1984, §4.2.2); prefixes from either
// end up to max_category_set, with an extra l2 against overfitting small groups. Categories with fewer rows than a leaf
// must have (judged by their hessians) stay out of the order, hence on the right: their means are noise.
FeatureBest find_categories(const CutRule& rule, const TreeParams& params, int32_t feature, bool rows_known,
                            std::vector<CategoryBin>& bins, Code n_categories);

}  // namespace arboretum
