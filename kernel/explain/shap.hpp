// Shapley values of the columns of a row (Lundberg et al. 2020), by quadrature (Wettenstein, Mitchell and Yu 2026; the
// walk is that of Yu et al. 2022, Linear TreeShap).
//
// Columns are the players; a coalition S of known columns is worth
//
//   v(S) = Σ_leaves V · Π_{i in S} o_i · Π_{i not in S} z_i
//
//   o_i   1 if the row takes all edges of column i on the way to the leaf, else 0; an unknown category that takes both
//         children counts by their shares
//   z_i   likewise the share of the training rows, or of one row of a background
//
// A Shapley value is the integral of the derivative of the multilinear extension (Owen 1972), where each column is
// known with probability p; p·o + (1 − p)·z =: f is then the factor of a column:
//
//   φ_i   = ∫ Σ_leaves V · (o_i − z_i) / f_i · Π_j f_j dp
//   φ_ij  = ½ ∫ Σ_leaves V · (o_i − z_i) / f_i · (o_j − z_j) / f_j · Π_k f_k dp
//
// Integrands are polynomials of a degree below the number d of columns on the path: ⌈d / 2⌉ points are exact, and
// nothing cancels, however deep the tree. All products and sums of a subtree are kept at these points, rows side by
// side:
//
//   down   products[child] = products[node] · f / f above          above: the nearest edge on the same column
//   up     φ_i += Σ_points (w − w above) · sums[child]             w = (o − z) / f
//          sums[node] += sums[child]
//
// so that a row costs O(edges · ⌈d / 2⌉) per tree, and so does each pair of columns on a path.
//
// Trees with oblique conditions: shap_dividends.hpp. Linear leaves: an unknown column is worth what it is at the centre
// of the leaf, or in the row of the background.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/simd.hpp"
#include "explain/shap_tree.hpp"
#include "forest/route.hpp"
#include "forest/slopes.hpp"

namespace arboretum {

constexpr int shap_rows = 32;  // side by side

struct alignas(64) ShapLane {
    double at[shap_rows];
};

// ---------------------------------------------------------------------------------------- loops over points and rows

// 1 for rows that go left, else 0.
ARBORETUM_CLONES inline void compare_rows(const ShapLane& x, double threshold, bool missing_left, ShapLane& goes_left) {
    ARBORETUM_INDEPENDENT
    for (int r = 0; r < shap_rows; ++r) {
        const double value = x.at[r];
        goes_left.at[r] = (value <= threshold) | ((value != value) & missing_left) ? 1.0 : 0.0;
    }
}

// Shares of the rows that go left at a condition on one column, whose values are x. start: first node of the tree.
inline void route_rows(const ForestView& forest, int64_t node, int64_t start, Unknown unknown, const ShapLane& x,
                       ShapLane& goes_left) {
    if (forest.kind_of(node) == ConditionKind::numeric)
        return compare_rows(x, forest.threshold[node], forest.missing_left[node] != 0, goes_left);
    const RawCondition condition = forest.condition(node);
    for (int r = 0; r < shap_rows; ++r) {
        const Side side = goes(condition, x.at[r], unknown);
        goes_left.at[r] = side == Side::both ? forest.left_share(node, start) : side == Side::left ? 1.0 : 0.0;
    }
}

ARBORETUM_CLONES inline void take_edge(const ShapLane& above, const ShapLane& goes_left, bool left, ShapLane& taken) {
    const double sign = left ? 1 : -1, start = left ? 0 : 1;
    ARBORETUM_INDEPENDENT
    for (int r = 0; r < shap_rows; ++r) taken.at[r] = above.at[r] * (start + sign * goes_left.at[r]);
}

struct ShapFactors {
    const double *taken, *left, *weight;  // of an edge (ShapTables)
    const double* weight_left;
    double share;
};

// products of the child, and its w; `above`: who took all edges above on the same column.
ARBORETUM_CLONES inline void open_rows(int n, const ShapFactors& edge, const ShapLane& taken, const ShapLane& above,
                                       const ShapLane* products, ShapLane* out, ShapLane* weight) {
    for (int k = 0; k < n; ++k) {
        const double factor_taken = edge.taken[k], factor_left = edge.left[k], share = edge.share;
        const double weight_taken = edge.weight[k], weight_left = edge.weight_left[k];
        ARBORETUM_INDEPENDENT
        for (int r = 0; r < shap_rows; ++r) {
            const double factor = taken.at[r] != 0 ? factor_taken : above.at[r] != 0 ? factor_left : share;
            out[k].at[r] = products[k].at[r] * factor;
            weight[k].at[r] = taken.at[r] != 0 ? weight_taken : weight_left;
        }
    }
}

// The same for rows that take shares of edges.
ARBORETUM_CLONES inline void open_shares(int n, const double* points, const ShapLane& taken, const ShapLane& above,
                                         double z, double z_above, const ShapLane* products, ShapLane* out,
                                         ShapLane* weight) {
    for (int k = 0; k < n; ++k) {
        const double p = points[k], q = 1 - p;
        ARBORETUM_INDEPENDENT
        for (int r = 0; r < shap_rows; ++r) {
            const double factor = p * taken.at[r] + q * z, before = p * above.at[r] + q * z_above;
            out[k].at[r] = before > 0 ? products[k].at[r] * (factor / before) : 0.0;
            weight[k].at[r] = factor > 0 ? (taken.at[r] - z) / factor : 0.0;
        }
    }
}

// Σ_points (w − w above) · sums.
ARBORETUM_CLONES inline void credit_rows(int n, const ShapLane* weight, const ShapLane* above, const ShapLane* sums,
                                         ShapLane& out) {
    ShapLane total{};
    for (int k = 0; k < n; ++k) {
        if (above != nullptr) {
            for (int r = 0; r < shap_rows; ++r) total.at[r] += (weight[k].at[r] - above[k].at[r]) * sums[k].at[r];
        } else {
            for (int r = 0; r < shap_rows; ++r) total.at[r] += weight[k].at[r] * sums[k].at[r];
        }
    }
    out = total;
}

ARBORETUM_CLONES inline void set_scaled(int n, double scale, const ShapLane* lanes, ShapLane* out) {
    for (int k = 0; k < n; ++k)
        for (int r = 0; r < shap_rows; ++r) out[k].at[r] = scale * lanes[k].at[r];
}

ARBORETUM_CLONES inline void add_scaled(int n, double scale, const ShapLane* lanes, ShapLane* out) {
    for (int k = 0; k < n; ++k)
        for (int r = 0; r < shap_rows; ++r) out[k].at[r] += scale * lanes[k].at[r];
}

ARBORETUM_CLONES inline void weigh_rows(int n, const ShapLane* weight, const ShapLane* above, const ShapLane* sums,
                                        ShapLane* out) {
    for (int k = 0; k < n; ++k)
        for (int r = 0; r < shap_rows; ++r)
            out[k].at[r] = (above != nullptr ? weight[k].at[r] - above[k].at[r] : weight[k].at[r]) * sums[k].at[r];
}

// A term of a linear leaf is a player's too: known it adds t, unknown s. Its product is o·t or z·s in place of o or z:
// the leaf adds f(o·t, z·s) / f · products. Besides what w gives it, φ of the term's column takes o·z·(t − s) / f².
ARBORETUM_CLONES inline void add_term(int n, const double* points, const ShapLane& taken, double z,
                                      const ShapLane& known, double unknown, const ShapLane* products, ShapLane* sums,
                                      ShapLane* own) {
    for (int k = 0; k < n; ++k) {
        const double p = points[k], q = 1 - p;
        for (int r = 0; r < shap_rows; ++r) {
            const double o = taken.at[r], factor = p * o + q * z;
            const double rest = factor > 0 ? products[k].at[r] / factor : 0.0;
            sums[k].at[r] += rest * (p * o * known.at[r] + q * z * unknown);
            own[k].at[r] = factor > 0 ? rest / factor * (o * z * (known.at[r] - unknown)) : 0.0;
        }
    }
}

// ---------------------------------------------------------------------------------------------------------- a block

struct ShapRows {
    const ShapLane* values;  // by place of the feature
    bool takes_shares;       // some row has a category that takes both children
    ShapLane* out;           // feature (× feature) × outputs
};

struct ShapShape {
    int64_t n_features, n_outputs;
    bool interactions;
};

class ShapWalk {
  public:
    ShapWalk(const ForestView& forest, const std::vector<int32_t>& place_of, ShapShape shape, Unknown unknown)
        : forest_(forest), place_of_(place_of), shape_(shape), unknown_(unknown) {
        all_.fill_with(1.0);
    }

    // Adds one tree. background: values of one row, by place of the feature; null if tables hold shares of training
    // rows.
    void add(int64_t number, const ShapTree& tree, const Quadrature& points, const ShapTables& tables,
             const double* background, const ShapRows& rows) {
        tree_ = &tree, points_ = &points, tables_ = &tables, background_ = background, rows_ = rows;
        n_ = points.size();
        output_ = std::max(forest_.tree_output[number], 0);
        make_levels();
        for (int k = 0; k < n_; ++k) std::fill_n(levels_[0].products[k].at, shap_rows, points.weight[k]);
        if (tree.edges.empty() && forest_.has_slopes(tree.start)) fill_linear(levels_[0], tree.start);
        for (int32_t e = 0; e < static_cast<int32_t>(tree.edges.size());) {
            close_down_to(tree.edges[e].depth);
            e = open(e) ? e + 1 : tree.edges[e].end;
        }
        close_down_to(1);
    }

  private:
    struct Lanes : ShapLane {
        void fill_with(double value) { std::fill_n(at, shap_rows, value); }
        bool any() const {
            return std::any_of(at, at + shap_rows, [](double value) { return value != 0; });
        }
    };

    // What is known of the open edge of each depth.
    struct Level {
        int32_t edge = -1, place = -1;  // place: in active_
        bool is_fresh = true;           // no child has closed yet
        Lanes goes_left, taken;
        std::vector<ShapLane> products, weight, sums;  // sums: width × points
    };

    void make_levels() {
        if (levels_.size() < static_cast<size_t>(tree_->depth) + 1) levels_.resize(tree_->depth + 1);
        for (Level& level : levels_) {
            if (level.products.size() >= static_cast<size_t>(n_)) continue;
            level.products.resize(n_);
            level.weight.resize(n_);
            level.sums.resize(n_ * forest_.width);
        }
        scratch_.resize(std::max<size_t>(scratch_.size(), n_));
        depth_ = 0;
        active_.clear();
    }

    // False if no row, known or not, gets there.
    bool open(int32_t e) {
        const ShapEdge& edge = tree_->edges[e];
        Level &parent = levels_[edge.depth - 1], &level = levels_[edge.depth];
        const Level* previous = level_of(edge.previous);
        const Lanes& above = previous != nullptr ? previous->taken : all_;
        if (edge.left)
            route_rows(forest_, edge.parent, tree_->start, unknown_, rows_.values[edge.feature], level.goes_left);
        take_edge(above, level.goes_left, edge.left, level.taken);
        const double z = tables_->z[e];
        if (z == 0 && !level.taken.any()) return false;
        if (rows_.takes_shares) {
            const double z_above = previous != nullptr ? tables_->z[edge.previous] : 1.0;
            open_shares(n_, points_->at.data(), level.taken, above, z, z_above, parent.products.data(),
                        level.products.data(), level.weight.data());
        } else {
            const size_t at = static_cast<size_t>(e) * n_;
            const ShapFactors factors{&tables_->taken[at], &tables_->left[at], &tables_->weight[at],
                                      tables_->weight_left.data(), tables_->share[e]};
            open_rows(n_, factors, level.taken, above, parent.products.data(), level.products.data(),
                      level.weight.data());
        }
        level.edge = e;
        activate(level, previous, edge.depth);
        depth_ = edge.depth;
        level.is_fresh = true;
        return true;
    }

    const Level* level_of(int32_t e) const { return e < 0 ? nullptr : &levels_[tree_->edges[e].depth]; }

    void activate(Level& level, const Level* previous, int32_t depth) {
        level.place = previous != nullptr ? previous->place : static_cast<int32_t>(active_.size());
        if (previous == nullptr) active_.push_back(depth);
        active_[level.place] = depth;
    }

    void close_down_to(int32_t depth) {
        for (; depth_ >= depth; --depth_) close(levels_[depth_]);
    }

    void close(Level& level) {
        const ShapEdge& edge = tree_->edges[level.edge];
        const Level* previous = level_of(edge.previous);
        const ShapLane* above = previous != nullptr ? previous->weight.data() : nullptr;
        Level& parent = levels_[edge.depth - 1];
        const double* value = forest_.value + edge.child * forest_.width;
        const bool is_constant = edge.is_leaf && !forest_.has_slopes(edge.child);
        if (edge.is_leaf && !is_constant) fill_linear(level, edge.child);
        const ShapLane* sums = is_constant ? level.products.data() : level.sums.data();
        if (is_constant) {
            credit(edge.feature, level, above, sums, value, forest_.width);
            for (int64_t j = 0; j < forest_.width; ++j) pass_up(value[j], sums, parent, j);
        } else {
            constexpr double one = 1;
            for (int64_t j = 0; j < forest_.width; ++j, sums += n_) {
                credit(edge.feature, level, above, sums, &one, 1, j);
                pass_up(one, sums, parent, j);
            }
        }
        parent.is_fresh = false;
        if (previous != nullptr)
            active_[level.place] = edges_depth(edge.previous);
        else
            active_.pop_back();
    }

    // The first child to close finds what an earlier subtree left behind.
    void pass_up(double scale, const ShapLane* sums, Level& parent, int64_t j) const {
        (parent.is_fresh ? set_scaled : add_scaled)(n_, scale, sums, &parent.sums[j * n_]);
    }

    int32_t edges_depth(int32_t e) const { return tree_->edges[e].depth; }

    // Adds scale[j] · Σ_points (w − w above) · sums to outputs first, first + 1, … of the feature, and of its pairs.
    void credit(int32_t feature, const Level& level, const ShapLane* above, const ShapLane* sums, const double* scale,
                int64_t n_scales, int64_t first = 0) {
        if (!shape_.interactions) {
            ShapLane total;
            credit_rows(n_, level.weight.data(), above, sums, total);
            for (int64_t j = 0; j < n_scales; ++j) add_scaled(1, scale[j], &total, cell(feature) + output_ + first + j);
            return;
        }
        weigh_rows(n_, level.weight.data(), above, sums, scratch_.data());
        credit_pairs(feature, scratch_.data(), scale, n_scales, first);
    }

    // Adds φ of a feature, which the points of `own` sum to, and φ of its pairs with all others on the path.
    void credit_pairs(int32_t feature, const ShapLane* own, const double* scale, int64_t n_scales, int64_t first) {
        ShapLane total{};
        for (int k = 0; k < n_; ++k) add_scaled(1, 1.0, own + k, &total);
        for (int64_t j = 0; j < n_scales; ++j)
            add_scaled(1, scale[j], &total, pair(feature, feature) + output_ + first + j);
        for (int32_t depth : active_) {
            const Level& other = levels_[depth];
            const int32_t partner = tree_->edges[other.edge].feature;
            if (partner == feature) continue;
            credit_rows(n_, other.weight.data(), nullptr, own, total);
            for (int64_t j = 0; j < n_scales; ++j)
                add_scaled(1, 0.5 * scale[j], &total,
                           pair(std::min(feature, partner), std::max(feature, partner)) + output_ + first + j);
        }
    }

    ShapLane* cell(int32_t feature) const { return rows_.out + feature * shape_.n_outputs; }
    ShapLane* pair(int32_t a, int32_t b) const { return rows_.out + (a * shape_.n_features + b) * shape_.n_outputs; }

    // ------------------------------------------------------------------------------------------------- linear leaves

    void fill_linear(Level& level, int64_t leaf) {
        set_scaled(n_, forest_.value[leaf], level.products.data(), level.sums.data());
        for (int64_t i = forest_.slope_start[leaf]; i < forest_.slope_start[leaf + 1]; ++i) {
            const SlopeTerm term = forest_.slope(i);
            const int32_t feature = place_of_[term.feature];
            Lanes known;
            for (int r = 0; r < shap_rows; ++r) known.at[r] = term.at(rows_.values[feature].at[r]);
            const double unknown = background_ != nullptr ? term.at(background_[feature]) : 0.0;
            const Level* on_path = active_level(feature);
            const Lanes& taken = on_path != nullptr ? on_path->taken : all_;
            const double z = on_path != nullptr ? tables_->z[on_path->edge] : 1.0;
            add_term(n_, points_->at.data(), taken, z, known, unknown, level.products.data(), level.sums.data(),
                     scratch_.data());
            credit_term(feature);
        }
    }

    void credit_term(int32_t feature) {
        constexpr double one = 1;
        if (shape_.interactions) return credit_pairs(feature, scratch_.data(), &one, 1, 0);
        for (int k = 0; k < n_; ++k) add_scaled(1, 1.0, &scratch_[k], cell(feature) + output_);
    }

    const Level* active_level(int32_t feature) const {
        for (int32_t depth : active_)
            if (tree_->edges[levels_[depth].edge].feature == feature) return &levels_[depth];
        return nullptr;
    }

    const ForestView& forest_;
    const std::vector<int32_t>& place_of_;
    const ShapShape shape_;
    const Unknown unknown_;
    const ShapTree* tree_ = nullptr;
    const Quadrature* points_ = nullptr;
    const ShapTables* tables_ = nullptr;
    const double* background_ = nullptr;
    ShapRows rows_{};
    int n_ = 0;
    int64_t output_ = 0;
    int32_t depth_ = 0;
    Lanes all_;
    std::vector<Level> levels_;
    std::vector<int32_t> active_;  // depths of the last open edge of each feature on the path
    std::vector<ShapLane> scratch_;
};

}  // namespace arboretum
