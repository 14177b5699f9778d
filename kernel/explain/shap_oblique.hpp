// Shapley values of trees with oblique conditions. Such a condition reads several columns, and is known if all of them
// are known.
//
// With u_A = 1 if all columns of A are known, else 0, a leaf is worth
//
//   V · Π_conditions (z + (o − z) · u_A)  =  V · Σ_U a_U · u_U          U: unions of the column sets of some conditions
//
// and a union of n columns gives V · a_U / n to each of them, ½ · V · a_U / (n − 1) to each pair (Harsanyi 1963).
// By training rows, shap_dividends.hpp does the same from the leaves up, if that takes not too many unions; here rows
// are walked one by one, and unions without a weight are left out.
//
// On the way down a condition turns a_U into  z · a_U  and  (o − z) · a_U for U ∪ A;  o · a_U if U holds A. Unions may
// double with each condition by training rows; with a background, z is 0 or 1, and few do.
#pragma once

#include <bitset>
#include <cmath>
#include <unordered_map>

#include "explain/shap.hpp"

namespace arboretum {

// Columns of the condition of a node, by their places.
template <class Set>
Set columns_of(const ForestView& forest, const std::vector<int32_t>& place_of, int64_t node) {
    Set columns;
    if (!forest.is_oblique(node)) {
        columns.set(place_of[forest.feature[node]]);
        return columns;
    }
    for (int64_t i = forest.projection_start[node]; i < forest.projection_start[node + 1]; ++i)
        columns.set(place_of[forest.projection_feature[i]]);
    return columns;
}

// Share of a row that goes left. value_of: place of a feature → the row's value.
template <class ValueOf>
double goes_left(const ForestView& forest, const std::vector<int32_t>& place_of, int64_t node, int64_t start,
                 Unknown unknown, ValueOf&& value_of) {
    if (forest.is_oblique(node)) {
        const double sum = forest.projected(node, [&](int32_t column) { return value_of(place_of[column]); });
        return sum <= forest.threshold[node] ? 1.0 : 0.0;
    }
    const Side side = goes(forest.condition(node), value_of(place_of[forest.feature[node]]), unknown);
    return side == Side::both ? forest.left_share(node, start) : side == Side::left ? 1.0 : 0.0;
}

template <class Set>
class Unions {
  public:
    struct Term {
        Set columns;
        double weight;
    };

    void clear() { terms_.clear(), place_.clear(); }
    void add(const Set& columns, double weight) {
        if (weight == 0) return;
        auto [found, is_new] = place_.try_emplace(columns, terms_.size());
        if (is_new)
            terms_.push_back({columns, weight});
        else
            terms_[found->second].weight += weight;
    }
    const std::vector<Term>& terms() const { return terms_; }

    void become(const Unions& above, const Set& columns, double o, double z) {
        clear();
        for (const Term& term : above.terms_) {
            const Set both = term.columns | columns;
            if (both == term.columns) {
                add(both, o * term.weight);
            } else {
                add(term.columns, z * term.weight);
                add(both, (o - z) * term.weight);
            }
        }
    }

  private:
    std::vector<Term> terms_;
    std::unordered_map<Set, size_t> place_;
};

template <class Set>
class ObliqueShap {
  public:
    ObliqueShap(const ForestView& forest, const std::vector<int32_t>& place_of, ShapShape shape, Unknown unknown)
        : forest_(forest), place_of_(place_of), shape_(shape), unknown_(unknown) {}

    // Most unions on a path, if no share is 0 or 1.
    static size_t most_unions(const ForestView& forest, const std::vector<int32_t>& place_of, const ShapTree& tree,
                              size_t limit) {
        std::vector<Unions<Set>> levels(tree.depth + 1);
        levels[0].add({}, 1.0);
        size_t most = 1;
        for (const ShapEdge& edge : tree.edges) {
            levels[edge.depth].become(levels[edge.depth - 1], columns_of<Set>(forest, place_of, edge.parent), 0.75,
                                      0.5);
            most = std::max(most, levels[edge.depth].terms().size());
            if (most > limit) break;
        }
        return most;
    }

    void add(int64_t number, const ShapTree& tree, const std::vector<double>& share, const double* background,
             const ShapRows& rows) {
        output_ = std::max(forest_.tree_output[number], 0);
        background_ = background;
        rows_ = rows;
        levels_.resize(std::max<size_t>(levels_.size(), tree.depth + 1));
        for (lane_ = 0; lane_ < shap_rows; ++lane_) add_row(tree, share);
    }

  private:
    void add_row(const ShapTree& tree, const std::vector<double>& share) {
        levels_[0].clear();
        levels_[0].add({}, 1.0);
        if (tree.edges.empty()) credit(tree.start, levels_[0]);
        auto value_of = [&](int32_t place) { return rows_.values[place].at[lane_]; };
        for (size_t e = 0; e < tree.edges.size();) {
            const ShapEdge& edge = tree.edges[e];
            const double left = goes_left(forest_, place_of_, edge.parent, tree.start, unknown_, value_of);
            Unions<Set>& level = levels_[edge.depth];
            level.become(levels_[edge.depth - 1], columns_of<Set>(forest_, place_of_, edge.parent),
                         edge.left ? left : 1 - left, share[e]);
            if (edge.is_leaf) credit(edge.child, level);
            e = level.terms().empty() ? edge.end : e + 1;
        }
    }

    void credit(int64_t leaf, const Unions<Set>& unions) {
        for (const auto& [columns, weight] : unions.terms()) {
            for (int64_t j = 0; j < forest_.width; ++j)
                share_out(columns, weight * forest_.value[leaf * forest_.width + j], j);
            if (forest_.slope_start == nullptr) continue;
            for (int64_t i = forest_.slope_start[leaf]; i < forest_.slope_start[leaf + 1]; ++i)
                credit_term(columns, weight, i);
        }
    }

    void credit_term(const Set& columns, double weight, int64_t i) {
        const SlopeTerm term = forest_.slope(i);
        const int32_t place = place_of_[term.feature];
        const double known = term.at(rows_.values[place].at[lane_]);
        const double unknown = background_ != nullptr ? term.at(background_[place]) : 0.0;
        share_out(columns, weight * unknown, 0);
        Set with = columns;
        share_out(with.set(place), weight * (known - unknown), 0);
    }

    void share_out(const Set& columns, double worth, int64_t output) {
        const int64_t n = static_cast<int64_t>(columns.count()), used = shape_.n_features;
        if (n == 0) return;
        members_.clear();
        for (int64_t i = 0; i < used; ++i)
            if (columns[i]) members_.push_back(i);
        const double each = worth / static_cast<double>(n);
        const double of_pair = n > 1 ? 0.5 * worth / static_cast<double>(n - 1) : 0.0;
        for (size_t a = 0; a < members_.size(); ++a) {
            const int64_t i = members_[a];
            at(shape_.interactions ? i * used + i : i, output) += each;
            for (size_t b = a + 1; shape_.interactions && b < members_.size(); ++b)
                at(i * used + members_[b], output) += of_pair;
        }
    }

    double& at(int64_t cell, int64_t output) const {
        return rows_.out[cell * shape_.n_outputs + output_ + output].at[lane_];
    }

    const ForestView& forest_;
    const std::vector<int32_t>& place_of_;
    const ShapShape shape_;
    const Unknown unknown_;
    const double* background_ = nullptr;
    ShapRows rows_{};
    int64_t output_ = 0;
    int lane_ = 0;
    std::vector<Unions<Set>> levels_;
    std::vector<int64_t> members_;
};

}  // namespace arboretum
