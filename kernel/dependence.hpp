// What a forest says of every row with some columns replaced by those of every point of a grid:
//
//   each(row, point) = Σ_trees f(columns of the row, but `replaced` columns of the point)
//   mean(point)      = Σ_rows weight · each(row, point)
//
// Rows and points are routed together as two lists. A condition on a replaced column divides the points and hands all
// rows to both children; any other divides the rows and hands on all points. A leaf then belongs to all pairs of its
// two lists. A tree so costs rows + points a level, not rows × points:
//
//                 x ≤ 3        rows {0 1 2 3}   points {a b c d}
//               ┌───┴───┐
//            p ≤ 7      leaf   {0 2}  {a b c d}     and     {1 3}  {a b c d}
//          ┌───┴───┐
//        leaf     leaf         {0 2}  {a b}         and     {0 2}  {c d}
//
// Oblique conditions may not read replaced columns: they would divide pairs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "compile.hpp"
#include "parallel.hpp"
#include "predict.hpp"
#include "simd.hpp"

namespace arboretum {

// Rows or points of a node: positions in the two arenas of a PairLists.
struct Members {
    size_t begin = 0;
    int64_t n = 0;
};

// Lists of members, one above the other. Shares (weights; parts of a category that takes both children) are kept only
// if there are some.
class PairLists {
  public:
    explicit PairLists(bool shared) : shared_(shared) {}

    bool shared() const { return shared_; }
    size_t top() const { return top_; }
    void cut(size_t top) { top_ = top; }
    uint32_t* index(size_t begin) { return index_.data() + begin; }
    double* share(size_t begin) { return share_.data() + begin; }

    Members reserve(int64_t n) {
        const Members members{top_, n};
        top_ += n;
        if (index_.size() < top_) {
            index_.resize(2 * top_);
            if (shared_) share_.resize(2 * top_);
        }
        return members;
    }

    double total(const Members& members) {
        if (!shared_) return static_cast<double>(members.n);
        const double* share = this->share(members.begin);
        return std::accumulate(share, share + members.n, 0.0);
    }

  private:
    bool shared_;
    size_t top_ = 0;
    std::vector<uint32_t> index_;
    std::vector<double> share_;
};

inline SlopeTerm slope_term(const ForestView& forest, int64_t term) {
    return {forest.slope_feature[term], forest.slope_weight[term], forest.slope_centre[term], forest.slope_low[term],
            forest.slope_high[term]};
}

inline bool is_oblique(const ForestView& forest, int64_t node) {
    return forest.kind[node] == static_cast<uint8_t>(ConditionKind::oblique);
}

// Whether an unknown category can take both children somewhere.
inline bool may_take_both(const ForestView& forest, Unknown unknown) {
    return unknown == Unknown::average && std::any_of(forest.kind, forest.kind + forest.n_nodes, [](uint8_t kind) {
               return kind == static_cast<uint8_t>(ConditionKind::category) ||
                      kind == static_cast<uint8_t>(ConditionKind::listed);
           });
}

// Share of a node's rows that went left, for those that take both children.
inline double share_of_left(const ForestView& forest, int64_t node, int64_t start) {
    const double left = static_cast<double>(forest.n_rows[start + forest.left[node]]);
    const double right = static_cast<double>(forest.n_rows[start + forest.right[node]]);
    return left + right > 0 ? left / (left + right) : 0.5;
}

// All of [begin, end), with their weights if lists keep shares.
inline Members whole(PairLists& lists, int64_t begin, int64_t end, const double* weight) {
    const Members members = lists.reserve(end - begin);
    std::iota(lists.index(members.begin), lists.index(members.begin) + members.n, static_cast<uint32_t>(begin));
    if (!lists.shared()) return members;
    if (weight != nullptr)
        std::copy(weight + begin, weight + end, lists.share(members.begin));
    else
        std::fill_n(lists.share(members.begin), members.n, 1.0);
    return members;
}

// Writes every member to both sides and moves on where it belongs: no branch to guess.
template <class SideOf>
inline void split(PairLists& lists, const Members& members, Members& left, Members& right, double left_share,
                  SideOf&& side_of) {
    const uint32_t* index = lists.index(members.begin);
    uint32_t *to_left = lists.index(left.begin), *to_right = lists.index(right.begin);
    left.n = right.n = 0;
    if (!lists.shared()) {
        for (int64_t i = 0; i < members.n; ++i) {
            const bool goes_left = side_of(index[i]) == Side::left;
            to_left[left.n] = to_right[right.n] = index[i];
            left.n += goes_left;
            right.n += !goes_left;
        }
        return;
    }
    const double* share = lists.share(members.begin);
    double *left_shares = lists.share(left.begin), *right_shares = lists.share(right.begin);
    for (int64_t i = 0; i < members.n; ++i) {
        const Side side = side_of(index[i]);
        to_left[left.n] = to_right[right.n] = index[i];
        left_shares[left.n] = side == Side::both ? share[i] * left_share : share[i];
        right_shares[right.n] = side == Side::both ? share[i] * (1 - left_share) : share[i];
        left.n += side != Side::right;
        right.n += side != Side::left;
    }
}

// Members that go left and right at a node, by the values of its column or by projections.
template <class Projected>
std::pair<Members, Members> divide(PairLists& lists, const ForestView& forest, int64_t node, int64_t start,
                                   const Members& members, const RawColumn& column, Unknown unknown,
                                   Projected&& projected) {
    Members left = lists.reserve(members.n), right = lists.reserve(members.n);
    const double threshold = forest.threshold[node];
    const bool missing_left = forest.missing_left[node] != 0;
    if (is_oblique(forest, node))
        split(lists, members, left, right, 0.0, [&](uint32_t at) { return side(projected(at) <= threshold); });
    else if (column.type == ValueType::float32)
        split(lists, members, left, right, 0.0,
              [&](uint32_t at) { return goes_numeric(column.at<float>(at), threshold, missing_left); });
    else if (column.type == ValueType::float64)
        split(lists, members, left, right, 0.0,
              [&](uint32_t at) { return goes_numeric(column.at<double>(at), threshold, missing_left); });
    else
        split(lists, members, left, right, share_of_left(forest, node, start),
              [&, condition = forest.condition(node)](uint32_t at) {
                  return goes(condition, column.at<int32_t>(at), unknown);
              });
    return {left, right};
}

// Adds a value to columns [0, width) of some rows of a matrix.
ARBORETUM_CLONES inline void add_to_rows(double* out, int64_t stride, const uint32_t* row, int64_t n_rows,
                                         int64_t width, double value) {
    for (int64_t i = 0; i < n_rows; ++i) {
        double* at = out + row[i] * stride;
        for (int64_t j = 0; j < width; ++j) at[j] += value;
    }
}

class Dependence {
  public:
    // row_columns: the table; point_columns: those of the grid for replaced columns, null data for all others.
    Dependence(const ForestView& forest, const RawColumn* row_columns, const RawColumn* point_columns, int64_t n_rows,
               int64_t n_points, Unknown unknown)
        : forest_(forest),
          rows_(row_columns),
          points_(point_columns),
          n_rows_(n_rows),
          n_points_(n_points),
          unknown_(unknown),
          may_take_both_(may_take_both(forest, unknown)) {}

    // out (outputs × points) += Σ_rows weight · trees. Trees are summed in fixed groups, rows in fixed blocks.
    void mean(const double* weight, int threads, double* out) const {
        const int64_t n_groups = std::min(most_groups, forest_.n_trees), size = forest_.n_outputs * n_points_;
        std::vector<std::vector<double>> sums(n_groups);
        parallel_for(n_groups, threads, [&](int64_t group, int) {
            const int64_t first = group * forest_.n_trees / n_groups, last = (group + 1) * forest_.n_trees / n_groups;
            sums[group].assign(size, 0.0);
            PairLists lists(weight != nullptr || may_take_both_);
            MeanSink sink{*this, lists, sums[group].data(), std::vector<double>(forest_.n_outputs)};
            for (int64_t begin = 0; begin < n_rows_; begin += mean_block)
                for (int64_t tree = first; tree < last; ++tree)
                    walk(tree, begin, std::min(n_rows_, begin + mean_block), weight, lists, sink);
            sink.finish();
        });
        for (const std::vector<double>& sum : sums)
            for (int64_t i = 0; i < size; ++i) out[i] += sum[i];
    }

    // out (rows × outputs × points) += trees.
    void each(int threads, double* out) const {
        parallel_blocks(n_rows_, each_block, threads, [&](int64_t begin, int64_t end, int) {
            PairLists lists(may_take_both_);
            EachSink sink{*this, lists, out, begin, std::vector<double>((end - begin) * forest_.n_outputs)};
            for (int64_t tree = 0; tree < forest_.n_trees; ++tree) walk(tree, begin, end, nullptr, lists, sink);
            sink.finish();
        });
    }

  private:
    static constexpr int64_t most_groups = 64, mean_block = 512, each_block = 256;

    struct Frame {
        int64_t node;
        Members rows, points;
        size_t top;  // what lies above in the arenas is of no use any more
    };

    bool is_replaced(int32_t feature) const { return points_[feature].data != nullptr; }

    // ------------------------------------------------------------------------------------------------ what leaves add

    struct MeanSink {
        const Dependence& of;
        PairLists& lists;
        double* out;                     // outputs × points
        std::vector<double> everywhere;  // what all points get alike

        void take(int64_t node, int64_t output, const Members& rows, const Members& points) {
            const ForestView& forest = of.forest_;
            const double total = lists.total(rows);
            for (int64_t j = 0; j < forest.width; ++j)
                add(output + j, points, total * forest.value[node * forest.width + j]);
            if (forest.slope_start == nullptr) return;
            for (int64_t term = forest.slope_start[node]; term < forest.slope_start[node + 1]; ++term)
                add_slope(slope_term(forest, term), output, rows, points, total);
        }

        void finish() {
            for (int64_t j = 0; j < of.forest_.n_outputs; ++j)
                for (int64_t point = 0; point < of.n_points_; ++point) out[j * of.n_points_ + point] += everywhere[j];
        }

      private:
        void add(int64_t output, const Members& points, double sum) {
            if (points.n == of.n_points_ && !lists.shared()) {
                everywhere[output] += sum;
                return;
            }
            double* curve = out + output * of.n_points_;
            const uint32_t* point = lists.index(points.begin);
            if (lists.shared()) {
                const double* share = lists.share(points.begin);
                for (int64_t i = 0; i < points.n; ++i) curve[point[i]] += share[i] * sum;
            } else {
                for (int64_t i = 0; i < points.n; ++i) curve[point[i]] += sum;
            }
        }

        void add_slope(const SlopeTerm& term, int64_t output, const Members& rows, const Members& points,
                       double total) {
            if (!of.is_replaced(term.feature)) {
                double sum = 0;
                for (int64_t i = 0; i < rows.n; ++i)
                    sum += share(rows, i) * term.at(of.rows_[term.feature].number(lists.index(rows.begin)[i]));
                add(output, points, sum);
                return;
            }
            double* curve = out + output * of.n_points_;
            for (int64_t i = 0; i < points.n; ++i) {
                const uint32_t point = lists.index(points.begin)[i];
                curve[point] += total * share(points, i) * term.at(of.points_[term.feature].number(point));
            }
        }

        double share(const Members& members, int64_t i) { return lists.shared() ? lists.share(members.begin)[i] : 1.0; }
    };

    struct EachSink {
        const Dependence& of;
        PairLists& lists;
        double* out;                     // rows × outputs × points
        int64_t begin;                   // first row
        std::vector<double> everywhere;  // rows from there × outputs: what all points get alike

        void take(int64_t node, int64_t output, const Members& rows, const Members& points) {
            const ForestView& forest = of.forest_;
            const uint32_t *row = lists.index(rows.begin), *point = lists.index(points.begin);
            const bool linear =
                forest.slope_start != nullptr && forest.slope_start[node] < forest.slope_start[node + 1];
            const bool plain = !lists.shared() && !linear;
            // Lists keep the order of their members, so that the points of a numeric condition follow each other.
            const bool in_a_row = plain && point[points.n - 1] - point[0] + 1 == points.n;
            const int64_t stride = forest.n_outputs * of.n_points_;
            for (int64_t j = 0; j < forest.width; ++j) {
                double* curves = out + (output + j) * of.n_points_;
                const double value = forest.value[node * forest.width + j];
                if (plain && points.n == of.n_points_)
                    for (int64_t i = 0; i < rows.n; ++i)
                        everywhere[(row[i] - begin) * forest.n_outputs + output + j] += value;
                else if (in_a_row)
                    add_to_rows(curves + point[0], stride, row, rows.n, points.n, value);
                else
                    for (int64_t i = 0; i < rows.n; ++i)
                        for (int64_t k = 0; k < points.n; ++k)
                            curves[row[i] * stride + point[k]] +=
                                share(rows, i) * share(points, k) *
                                (linear ? of.linear_leaf(node, value, row[i], point[k]) : value);
            }
        }

        void finish() {
            for (size_t i = 0; i < everywhere.size(); ++i) {
                double* curve = out + (begin * of.forest_.n_outputs + static_cast<int64_t>(i)) * of.n_points_;
                for (int64_t point = 0; point < of.n_points_; ++point) curve[point] += everywhere[i];
            }
        }

      private:
        double share(const Members& members, int64_t i) { return lists.shared() ? lists.share(members.begin)[i] : 1.0; }
    };

    double linear_leaf(int64_t node, double value, uint32_t row, uint32_t point) const {
        for (int64_t i = forest_.slope_start[node]; i < forest_.slope_start[node + 1]; ++i) {
            const SlopeTerm term = slope_term(forest_, i);
            value += term.at(is_replaced(term.feature) ? points_[term.feature].number(point)
                                                       : rows_[term.feature].number(row));
        }
        return value;
    }

    // ---------------------------------------------------------------------------------------------------- dividing

    template <class Sink>
    void walk(int64_t tree, int64_t begin, int64_t end, const double* weight, PairLists& lists, Sink& sink) const {
        const int64_t start = forest_.tree_start[tree], output = std::max(forest_.tree_output[tree], 0);
        lists.cut(0);
        const Members rows = whole(lists, begin, end, weight), points = whole(lists, 0, n_points_, nullptr);
        std::vector<Frame> open{{start, rows, points, lists.top()}};
        while (!open.empty()) {
            const Frame frame = open.back();
            open.pop_back();
            if (frame.rows.n == 0 || frame.points.n == 0) continue;
            if (forest_.kind[frame.node] == static_cast<uint8_t>(ConditionKind::leaf)) {
                sink.take(frame.node, output, frame.rows, frame.points);
                continue;
            }
            lists.cut(frame.top);
            const bool on_points = is_replaced(forest_.feature[frame.node]) && !is_oblique(forest_, frame.node);
            const RawColumn& column = (on_points ? points_ : rows_)[forest_.feature[frame.node]];
            const auto [left, right] =
                divide(lists, forest_, frame.node, start, on_points ? frame.points : frame.rows, column, unknown_,
                       [&](uint32_t row) { return projected(frame.node, row); });
            const int64_t left_node = start + forest_.left[frame.node], right_node = start + forest_.right[frame.node];
            if (on_points) {
                open.push_back({right_node, frame.rows, right, lists.top()});
                open.push_back({left_node, frame.rows, left, lists.top()});
            } else {
                open.push_back({right_node, right, frame.points, lists.top()});
                open.push_back({left_node, left, frame.points, lists.top()});
            }
        }
    }

    double projected(int64_t node, uint32_t row) const {
        double sum = 0;
        for (int64_t term = forest_.projection_start[node]; term < forest_.projection_start[node + 1]; ++term) {
            const double value = rows_[forest_.projection_feature[term]].number(row);
            sum += forest_.projection_weight[term] * (std::isnan(value) ? forest_.projection_fill[term] : value);
        }
        return sum;
    }

    ForestView forest_;
    const RawColumn *rows_, *points_;
    int64_t n_rows_, n_points_;
    Unknown unknown_;
    bool may_take_both_;
};

}  // namespace arboretum
