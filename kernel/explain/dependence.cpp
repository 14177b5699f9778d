#include "explain/dependence.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "explain/pair_lists.hpp"

namespace arboretum {

namespace {

// Adds a value to columns [0, width) of some rows of a matrix.
ARBORETUM_CLONES void add_to_rows(double* out, int64_t stride, const uint32_t* row, int64_t n_rows, int64_t width,
                                  double value) {
    for (int64_t i = 0; i < n_rows; ++i) {
        double* at = out + row[i] * stride;
        for (int64_t j = 0; j < width; ++j) at[j] += value;
    }
}

class Dependence {
  public:
    explicit Dependence(const PairTables& tables)
        : forest_(tables.forest),
          rows_(tables.rows),
          points_(tables.points),
          n_rows_(tables.n_rows),
          n_points_(tables.n_points),
          unknown_(tables.unknown),
          may_take_both_(may_take_both(tables.forest, tables.unknown)) {}

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
        size_t top;  // what lies above in the arenas is no longer used
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
                add_slope(forest.slope(term), output, rows, points, total);
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
            const bool linear = forest.has_slopes(node);
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
        return forest_.linear_leaf(node, value, [&](int32_t feature) {
            return is_replaced(feature) ? points_[feature].number(point) : rows_[feature].number(row);
        });
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
            if (forest_.is_leaf(frame.node)) {
                sink.take(frame.node, output, frame.rows, frame.points);
                continue;
            }
            lists.cut(frame.top);
            const bool on_points = is_replaced(forest_.feature[frame.node]) && !forest_.is_oblique(frame.node);
            const RawColumn& column = (on_points ? points_ : rows_)[forest_.feature[frame.node]];
            const auto [left, right] =
                divide(lists, forest_, frame.node, start, on_points ? frame.points : frame.rows, column, unknown_,
                       [&](uint32_t row) {
                           return forest_.projected(frame.node, [&](int32_t f) { return rows_[f].number(row); });
                       });
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

    ForestView forest_;
    const RawColumn *rows_, *points_;
    int64_t n_rows_, n_points_;
    Unknown unknown_;
    bool may_take_both_;
};

}  // namespace

void add_mean_dependence(const PairTables& tables, const double* weight, int threads, double* out) {
    Dependence(tables).mean(weight, threads, out);
}

void add_each_dependence(const PairTables& tables, int threads, double* out) { Dependence(tables).each(threads, out); }

}  // namespace arboretum
