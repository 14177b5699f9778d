// Shapley values by rows of a background, where each row takes one side of each condition: bits in place of products.
//
// On the way to a leaf every column passes or fails, both in the row that is explained and in each background row.
// The leaf counts for a pair of rows if no column fails in both. Then a coalition gets there if it holds the s columns
// that fail in the background and none of the r columns that fail in the row, and (Lundberg et al. 2020)
//
//   φ_i =  V · (s − 1)! r! / (s + r)!      for the s columns
//   φ_i = −V · s! (r − 1)! / (s + r)!      for the r columns
//
// Rows that fail in the same columns get the same, and few columns are on a path: what a leaf gives is looked up by the
// bits of the row, and the background is read once per leaf, not once per row (as in Nadel and Wettenstein 2025).
#pragma once

#include <bit>
#include <utility>

#include "explain/shap.hpp"

namespace arboretum {

// beta(s, r) = (s − 1)! r! / (s + r)!
class CoalitionWeights {
  public:
    static constexpr int most = 64;  // columns on a path

    CoalitionWeights() : beta_((most + 1) * (most + 1)) {
        for (int s = 1; s <= most; ++s) {
            at(s, 0) = 1.0 / s;
            for (int r = 1; r <= most; ++r) at(s, r) = at(s, r - 1) * r / (s + r);
        }
    }
    double operator()(int s, int r) const { return beta_[s * (most + 1) + r]; }

  private:
    double& at(int s, int r) { return beta_[s * (most + 1) + r]; }
    std::vector<double> beta_;
};

class BackgroundShap {
  public:
    using Bits = uint64_t;  // columns that fail, in the order in which the path meets them

    BackgroundShap(const ForestView& forest, ShapShape shape, Unknown unknown)
        : forest_(forest), shape_(shape), unknown_(unknown) {}

    // others: rows × features of the background.
    void add(int64_t number, const ShapTree& tree, const double* others, int64_t n_others,
             const std::vector<ShapRows>& blocks) {
        output_ = std::max(forest_.tree_output[number], 0);
        others_ = others, n_others_ = n_others, blocks_ = &blocks;
        levels_.resize(std::max<size_t>(levels_.size(), tree.depth + 1));
        for (Level& level : levels_) {
            level.rows.resize(blocks.size() * shap_rows);
            level.others.resize(n_others);
        }
        path_.resize(tree.depth);
        for (const ShapEdge& edge : tree.edges) {
            open(tree, edge);
            if (edge.is_leaf) credit(levels_[edge.depth], forest_.value + edge.child * forest_.width);
        }
    }

  private:
    struct Level {
        std::vector<Bits> rows, others;
        int place = 0, n_columns = 0;  // place: bit of the edge's column; n_columns: on the path
    };

    void open(const ShapTree& tree, const ShapEdge& edge) {
        const Level& parent = levels_[edge.depth - 1];
        Level& level = levels_[edge.depth];
        level.place = edge.previous < 0 ? parent.n_columns : levels_[tree.edges[edge.previous].depth].place;
        level.n_columns = parent.n_columns + (edge.previous < 0);
        path_[level.place] = edge.feature;
        const RawCondition condition = forest_.condition(edge.parent);
        const Side side = edge.left ? Side::left : Side::right;
        auto fails = [&](double value) { return Bits{goes(condition, value, unknown_) != side} << level.place; };
        for (size_t b = 0; b < blocks_->size(); ++b) {
            const double* x = (*blocks_)[b].values[edge.feature].at;
            for (int r = 0; r < shap_rows; ++r)
                level.rows[b * shap_rows + r] = parent.rows[b * shap_rows + r] | fails(x[r]);
        }
        for (int64_t i = 0; i < n_others_; ++i)
            level.others[i] = parent.others[i] | fails(others_[i * shape_.n_features + edge.feature]);
    }

    void credit(const Level& leaf, const double* value) {
        group(leaf.others);
        const int n = leaf.n_columns;
        const bool looks_up = n <= few_columns;
        if (looks_up) known_.assign(size_t{1} << n, 0);
        found_.resize(looks_up ? n << n : n);
        for (size_t b = 0; b < blocks_->size(); ++b)
            for (int r = 0; r < shap_rows; ++r) {
                const Bits row = leaf.rows[b * shap_rows + r];
                double* found = found_.data() + (looks_up ? row * n : 0);
                if (!looks_up || !std::exchange(known_[row], 1)) find(row, n, found);
                for (int i = 0; i < n; ++i) {
                    if (found[i] == 0) continue;
                    ShapLane* out = (*blocks_)[b].out + path_[i] * shape_.n_outputs + output_;
                    for (int64_t j = 0; j < forest_.width; ++j) out[j].at[r] += found[i] * value[j];
                }
            }
    }

    // Rows of the background that fail in the same columns.
    void group(const std::vector<Bits>& others) {
        sorted_ = others;
        std::sort(sorted_.begin(), sorted_.end());
        groups_.clear();
        for (Bits bits : sorted_) {
            if (groups_.empty() || groups_.back().first != bits) groups_.push_back({bits, 0});
            groups_.back().second += 1;
        }
    }

    void find(Bits row, int n, double* found) const {
        std::fill_n(found, n, 0.0);
        const int r = std::popcount(row);
        double of_row = 0;
        for (auto [bits, count] : groups_) {
            if ((bits & row) != 0) continue;
            const int s = std::popcount(bits);
            if (r > 0) of_row += count * weights_(r, s);
            for (Bits left = bits; left != 0; left &= left - 1) found[std::countr_zero(left)] += count * weights_(s, r);
        }
        for (Bits left = row; left != 0; left &= left - 1) found[std::countr_zero(left)] = -of_row;
    }

    static constexpr int few_columns = 10;

    const ForestView& forest_;
    const ShapShape shape_;
    const Unknown unknown_;
    const CoalitionWeights weights_;
    const double* others_ = nullptr;
    int64_t n_others_ = 0, output_ = 0;
    const std::vector<ShapRows>* blocks_ = nullptr;
    std::vector<Level> levels_;
    std::vector<int32_t> path_;  // feature of each bit
    std::vector<Bits> sorted_;
    std::vector<std::pair<Bits, double>> groups_;
    std::vector<uint8_t> known_;
    std::vector<double> found_;
};

}  // namespace arboretum
