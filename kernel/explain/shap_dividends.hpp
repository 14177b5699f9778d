// Shapley values of trees with oblique conditions by training rows. The game of a node is a sum of unanimity games
// (Harsanyi 1963), with u_U = 1 if all columns of U are known, else 0:
//
//   v(leaf) = V
//   v(node) = z · v(left) + (1 − z) · v(right) + (o − z) · u_A · (v(left) − v(right))
//
//   A         columns of the condition of the node; u_A · u_U = u_{A ∪ U}
//   o, z      share of the row, and of the training rows, that goes left
//
// At the root a union of n columns gives its dividend / n to each of them, ½ · dividend / (n − 1) to each pair.
//
// Which unions a node has does not depend on the row. They are found once for a chunk of rows, and so are the places
// where those of the children go; what is left for rows, side by side, is to multiply and add. From the leaves up, the
// many nodes near leaves have few unions; from the root down (shap_oblique.hpp), they would have the most.
//
//   steps     children before their parent
//   moves     for each union U of the left child, then of the right one: places of U and of A ∪ U at the parent
//   lists     depth × side: unions × width lanes of rows; a parent reads both sides of the depth below its own
#pragma once

#include <bit>
#include <bitset>
#include <vector>

#include "base/rng.hpp"
#include "explain/shap.hpp"
#include "explain/shap_oblique.hpp"

namespace arboretum {

struct UnionMove {
    uint32_t alone, joined;
};

// What a child adds to the game of its parent. z, o: share of the training rows, and of the rows, that go to it.
ARBORETUM_CLONES inline void add_child(const UnionMove* moves, int64_t n, int64_t width, double z, const ShapLane& o,
                                       const ShapLane* child, ShapLane* out) {
    ShapLane change;
    for (int r = 0; r < shap_rows; ++r) change.at[r] = o.at[r] - z;
    for (int64_t i = 0; i < n; ++i) {
        const bool holds = moves[i].alone == moves[i].joined;
        ShapLane *alone = out + moves[i].alone * width, *joined = out + moves[i].joined * width;
        for (int64_t j = 0; j < width; ++j, ++child) {
            if (holds) {
                for (int r = 0; r < shap_rows; ++r) alone[j].at[r] += o.at[r] * child->at[r];
                continue;
            }
            for (int r = 0; r < shap_rows; ++r) alone[j].at[r] += z * child->at[r];
            for (int r = 0; r < shap_rows; ++r) joined[j].at[r] += change.at[r] * child->at[r];
        }
    }
}

// sum += weight · value, with `fill` for a missing value: the terms of ForestView::projected, in the same order.
ARBORETUM_CLONES inline void add_projected(const ShapLane& x, double weight, double fill, ShapLane& sum) {
    for (int r = 0; r < shap_rows; ++r) sum.at[r] += weight * (x.at[r] != x.at[r] ? fill : x.at[r]);
}

// Distinct sets of columns, in the order in which they are found.
template <class Set>
class SetList {
  public:
    // most: sets that will be asked for.
    void clear(size_t most) {
        sets_.clear();
        slots_.assign(std::bit_ceil(2 * most + 2), 0);
    }
    uint32_t place(const Set& set) {
        size_t at = hash(set) & (slots_.size() - 1);
        for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1))
            if (sets_[slots_[at] - 1] == set) return slots_[at] - 1;
        sets_.push_back(set);
        slots_[at] = static_cast<uint32_t>(sets_.size());
        return slots_[at] - 1;
    }
    size_t size() const { return sets_.size(); }
    const std::vector<Set>& sets() const { return sets_; }

  private:
    static size_t hash(const Set& set) {
        if constexpr (Set().size() <= 64)
            return mix(set.to_ullong());
        else
            return std::hash<Set>()(set);
    }

    std::vector<Set> sets_;
    std::vector<uint32_t> slots_;  // place + 1; 0 is free
};

template <class Set>
class DividendShap {
  public:
    DividendShap(const ForestView& forest, const std::vector<int32_t>& place_of, ShapShape shape, Unknown unknown)
        : forest_(forest), place_of_(place_of), shape_(shape), unknown_(unknown) {}

    // Whatever the trees are: so few columns do not have more unions.
    static bool always_fits(size_t n_columns, int64_t width) {
        return n_columns < 32 && (size_t{1} << n_columns) * width <= most_lanes;
    }

    // Finds the unions of a tree; false if a node has too many to hold them for a block of rows.
    bool plan(const ShapTree& tree) {
        start_ = tree.start;
        steps_.clear(), moves_.clear();
        const size_t n_lists = std::max<size_t>(sets_.size(), 2 * tree.depth + 2);
        sets_.resize(n_lists), lists_.resize(n_lists), sizes_.resize(n_lists);
        struct Visit {
            int64_t node;
            int32_t depth;
            bool is_left, children_done;
        };
        std::vector<Visit> open{{start_, 0, true, false}};
        while (!open.empty()) {
            auto& [node, depth, is_left, children_done] = open.back();
            if (!forest_.is_leaf(node) && !children_done) {
                children_done = true;
                const int64_t left = start_ + forest_.left[node], right = start_ + forest_.right[node];
                const int32_t below = depth + 1;
                open.push_back({right, below, false, false});
                open.push_back({left, below, true, false});
                continue;
            }
            Step step{node, depth, is_left, 0};
            open.pop_back();
            step.n_unions = forest_.is_leaf(step.node) ? find_terms(step) : find_unions(step);
            if (step.n_unions * forest_.width > most_lanes) return false;
            lists_[step.list()].resize(std::max(lists_[step.list()].size(), step.n_unions * forest_.width));
            steps_.push_back(step);
        }
        return true;
    }

    // Adds the tree that was planned last.
    void add(int64_t number, const ShapRows& rows) {
        rows_ = rows;
        output_ = std::max(forest_.tree_output[number], 0);
        const UnionMove* moves = moves_.data();
        for (const Step& step : steps_) {
            sizes_[step.list()] = step.n_unions;
            std::fill_n(lists_[step.list()].data()->at, step.n_unions * forest_.width * shap_rows, 0.0);
            moves = forest_.is_leaf(step.node) ? fill_leaf(step, moves) : join_children(step, moves);
        }
        const std::vector<Set>& unions = sets_[0].sets();
        for (size_t i = 0; i < unions.size(); ++i)
            for (int64_t j = 0; j < forest_.width; ++j) share_out(unions[i], lists_[0][i * forest_.width + j], j);
    }

  private:
    static constexpr size_t most_lanes = 1 << 13;  // 2 MB a list

    struct Step {
        int64_t node;
        int32_t depth;
        bool is_left;
        size_t n_unions;

        size_t list() const { return 2 * depth + !is_left; }
        size_t of_child(bool left) const { return 2 * (depth + 1) + !left; }
    };

    // ------------------------------------------------------------------------------------------------------- unions

    // A leaf: no column, and each column of a linear leaf.
    size_t find_terms(const Step& step) {
        SetList<Set>& found = sets_[step.list()];
        const int64_t begin = forest_.has_slopes(step.node) ? forest_.slope_start[step.node] : 0;
        const int64_t end = forest_.has_slopes(step.node) ? forest_.slope_start[step.node + 1] : 0;
        found.clear(1 + end - begin);
        found.place({});
        for (int64_t i = begin; i < end; ++i) {
            const uint32_t place = found.place(Set().set(place_of_[forest_.slope_feature[i]]));
            moves_.push_back({place, place});
        }
        return found.size();
    }

    size_t find_unions(const Step& step) {
        SetList<Set>& found = sets_[step.list()];
        const Set columns = columns_of<Set>(forest_, place_of_, step.node);
        found.clear(2 * (sets_[step.of_child(true)].size() + sets_[step.of_child(false)].size()));
        for (bool left : {true, false})
            for (const Set& set : sets_[step.of_child(left)].sets()) {
                const uint32_t alone = found.place(set);
                moves_.push_back({alone, found.place(set | columns)});
            }
        return found.size();
    }

    // --------------------------------------------------------------------------------------------------------- rows

    const UnionMove* fill_leaf(const Step& step, const UnionMove* moves) {
        ShapLane* list = lists_[step.list()].data();
        for (int64_t j = 0; j < forest_.width; ++j)
            std::fill_n(list[j].at, shap_rows, forest_.value[step.node * forest_.width + j]);
        if (!forest_.has_slopes(step.node)) return moves;
        for (int64_t i = forest_.slope_start[step.node]; i < forest_.slope_start[step.node + 1]; ++i, ++moves) {
            const SlopeTerm term = forest_.slope(i);
            const ShapLane& x = rows_.values[place_of_[term.feature]];
            for (int r = 0; r < shap_rows; ++r) list[moves->alone].at[r] += term.at(x.at[r]);
        }
        return moves;
    }

    const UnionMove* join_children(const Step& step, const UnionMove* moves) {
        ShapLane share;
        route(step.node, share);
        double z = forest_.left_share(step.node, start_);
        for (bool left : {true, false}) {
            const size_t child = step.of_child(left);
            add_child(moves, sizes_[child], forest_.width, z, share, lists_[child].data(), lists_[step.list()].data());
            moves += sizes_[child];
            z = 1 - z;
            for (double& of_row : share.at) of_row = 1 - of_row;
        }
        return moves;
    }

    // Shares of the rows that go left.
    void route(int64_t node, ShapLane& share) const {
        if (!forest_.is_oblique(node))
            return route_rows(forest_, node, start_, unknown_, rows_.values[place_of_[forest_.feature[node]]], share);
        ShapLane sum{};
        for (int64_t i = forest_.projection_start[node]; i < forest_.projection_start[node + 1]; ++i)
            add_projected(rows_.values[place_of_[forest_.projection_feature[i]]], forest_.projection_weight[i],
                          forest_.projection_fill[i], sum);
        compare_rows(sum, forest_.threshold[node], false, share);
    }

    void share_out(const Set& columns, const ShapLane& dividend, int64_t output) {
        const int64_t n = static_cast<int64_t>(columns.count()), used = shape_.n_features;
        if (n == 0) return;
        for (int64_t a = 0; a < used; ++a) {
            if (!columns[a]) continue;
            add_scaled(1, 1.0 / n, &dividend, cell(shape_.interactions ? a * used + a : a, output));
            for (int64_t b = a + 1; shape_.interactions && b < used; ++b)
                if (columns[b]) add_scaled(1, 0.5 / (n - 1), &dividend, cell(a * used + b, output));
        }
    }

    ShapLane* cell(int64_t at, int64_t output) const { return rows_.out + at * shape_.n_outputs + output_ + output; }

    const ForestView& forest_;
    const std::vector<int32_t>& place_of_;
    const ShapShape shape_;
    const Unknown unknown_;
    int64_t start_ = 0;
    std::vector<Step> steps_;
    std::vector<UnionMove> moves_;
    std::vector<SetList<Set>> sets_;  // these three by list
    std::vector<std::vector<ShapLane>> lists_;
    std::vector<size_t> sizes_;
    ShapRows rows_{};
    int64_t output_ = 0;
};

}  // namespace arboretum
