#include "grow/gradient/split.hpp"

#include <utility>

#include "base/simd.hpp"

namespace arboretum {

namespace {

// Gains where leaf values are bounded or must be in order.
void bounded_cut_gains(const double* gradient, const double* hessian, int64_t n, double shift_g, double shift_h,
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

class CategoryFinder {
  public:
    CategoryFinder(const CutRule& rule, const TreeParams& params, int32_t feature, bool rows_known)
        : rule_(rule), params_(params), feature_(feature), rows_known_(rows_known) {}

    FeatureBest find(std::vector<CategoryBin>& bins, Code n_categories) {
        best_ = FeatureBest{};
        if (static_cast<int>(n_categories) <= params_.max_onehot)
            one_against_rest(bins);
        else
            prefixes(bins);
        return std::move(best_);
    }

  private:
    void one_against_rest(std::vector<CategoryBin>& bins) {
        for (CategoryBin& bin : bins) bin.rank = params_.category_rank(feature_, bin.code);
        std::sort(bins.begin(), bins.end());
        for (const CategoryBin& bin : bins)
            if (offer(bin.gradient, bin.hessian, bin.rows, 0.0)) {
                best_.left = bin.sum;
                best_.left_codes = {bin.code};
            }
    }

    void prefixes(std::vector<CategoryBin>& bins) {
        std::erase_if(bins, [&](const CategoryBin& b) { return rule_.is_rare(b.hessian); });
        double largest = 0;
        for (CategoryBin& bin : bins) {
            bin.key = bin.gradient / (bin.hessian + params_.category_smoothing);
            largest = std::max(largest, std::abs(bin.key));
        }
        // In steps of the largest: means that tie in exact arithmetic tie here too, as gains do (comparable).
        const double steps = largest > 0 ? 131072 / largest : 0;
        for (CategoryBin& bin : bins) {
            bin.key = std::rint(bin.key * steps);
            bin.rank = params_.category_rank(feature_, bin.code);
        }
        std::sort(bins.begin(), bins.end());
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
    int32_t feature_;
    bool rows_known_;
    FeatureBest best_;
};

}  // namespace

ARBORETUM_CLONES void cut_gains(const double* gradient, const double* hessian, int64_t n, double shift_g,
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

// Bits of positive gains rise with them. The maximum of integers may be taken in any order, hence by vectors; so may be
// whether a gain of a block reaches it.
ARBORETUM_CLONES int64_t first_maximum(const double* gains, int64_t n) {
    int64_t highest = 0;
    for (int64_t i = 0; i < n; ++i) {
        int64_t bits;
        std::memcpy(&bits, gains + i, 8);
        bits = gains[i] > 0 ? bits : 0;  // not a number: 0
        highest = bits > highest ? bits : highest;
    }
    double top;
    std::memcpy(&top, &highest, 8);
    top = comparable(top);
    if (!(top > 0)) return -1;
    constexpr int64_t block = cuts_at_once;
    int64_t i = 0;
    for (; i + block <= n; i += block) {
        int64_t reached = 0;
        for (int64_t k = 0; k < block; ++k) reached += gains[i + k] >= top;
        if (reached > 0) break;
    }
    while (!(gains[i] >= top)) ++i;
    return i;
}

CutRule cut_rule(const NodeFacts& node, const LaneScale& scale, const TreeParams& params, int monotone) {
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

CutRange cut_range(const BinView& view, bool missing_left, const CutRule& rule) {
    const int64_t n = std::max<int64_t>(0, view.n - (missing_left || !view.has_missing ? 1 : 0));
    if (!view.rows_known() || !(rule.min_rows > 1)) return {0, n};
    // Rows only rise: the cuts that leave too few on one side lie at the two ends.
    const double shift = missing_left ? static_cast<double>(view.missing_rows) : 0;
    auto first_above = [&](int64_t begin, auto&& enough) {
        int64_t end = n;
        while (begin < end) {
            const int64_t middle = begin + (end - begin) / 2;
            if (enough(view.rows_up_to(middle) + shift))
                end = middle;
            else
                begin = middle + 1;
        }
        return begin;
    };
    const int64_t first = first_above(0, [&](double left) { return left > rule.min_rows - 0.5; });
    return {first, first_above(first, [&](double left) { return rule.n_rows - left < rule.min_rows - 0.5; })};
}

void view_gains(const BinView& view, bool missing_left, const CutRule& rule, const CutRange& cuts, double* out) {
    const double shift_g = missing_left ? view.missing_gradient : 0, shift_h = missing_left ? view.missing_hessian : 0;
    const double *gradient = view.gradient + cuts.first, *hessian = view.hessian + cuts.first;
    const int64_t n = cuts.last - cuts.first;
    if (rule.monotone != 0 || rule.leaf.bounds.any())
        bounded_cut_gains(gradient, hessian, n, shift_g, shift_h, rule, out + cuts.first);
    else
        cut_gains(gradient, hessian, (n + cuts_at_once - 1) / cuts_at_once * cuts_at_once, shift_g, shift_h, rule,
                  out + cuts.first);
}

// LeafRule::value and Agreement::add without a branch, so that vectors compute several cuts at once.
ARBORETUM_CLONES void add_agreements(const BinView& view, bool missing_left, const CutRule& rule, const double* gains,
                                     double* product, double* square) {
    const double shift_g = missing_left ? view.missing_gradient : 0, shift_h = missing_left ? view.missing_hessian : 0;
    const double l1 = rule.leaf.l1, l2 = rule.leaf.l2, lower = rule.leaf.bounds.lower, upper = rule.leaf.bounds.upper;
    const double G = rule.gradient, H = rule.hessian;
    const double *gradient = view.gradient, *hessian = view.hessian;
    Agreement whole;
    whole.add(rule.leaf, G, H);
    const double whole_product = whole.product, whole_square = whole.square;
    auto value = [=](double g, double h) {
        double size = std::abs(g) - l1, denominator = h + l2;
        size = size > 0 ? size : 0;
        denominator = denominator > 1e-300 ? denominator : 1e-300;
        const double free = -std::copysign(size, g) / denominator;
        const double raised = free < lower ? lower : free;
        return raised > upper ? upper : raised;
    };
    ARBORETUM_INDEPENDENT
    for (int64_t i = 0; i < view.n; ++i) {
        const double gl = gradient[i] + shift_g, hl = hessian[i] + shift_h, gr = G - gl, hr = H - hl;
        const double left = value(gl, hl), right = value(gr, hr);
        const double p = -(gl * left) - gr * right, s = hl * left * left + hr * right * right;
        const bool allowed = gains[i] > -infinity;
        product[i] += allowed ? p : whole_product;
        square[i] += allowed ? s : whole_square;
    }
}

NumericCut find_numeric(const BinView& view, const CutRule& rule, double* scratch) {
    NumericCut best;
    for (bool missing_left : {false, true}) {
        if (missing_left && !view.has_missing) break;
        CutRange cuts = cut_range(view, missing_left, rule);
        if (missing_left)  // a cut before the first value is "all values right": offered once, the other way round
            while (cuts.first < cuts.last && view.gradient[cuts.first] == 0 && view.hessian[cuts.first] == 0)
                ++cuts.first;
        if (cuts.first == cuts.last) continue;
        view_gains(view, missing_left, rule, cuts, scratch);
        const int64_t found = first_maximum(scratch + cuts.first, cuts.last - cuts.first);
        if (found < 0) continue;
        const double gain = comparable(scratch[cuts.first + found]);
        if (gain > best.gain) best = {gain, cuts.first + found, missing_left};
    }
    return best;
}

FeatureBest find_categories(const CutRule& rule, const TreeParams& params, int32_t feature, bool rows_known,
                            std::vector<CategoryBin>& bins, Code n_categories) {
    return CategoryFinder(rule, params, feature, rows_known).find(bins, n_categories);
}

}  // namespace arboretum
