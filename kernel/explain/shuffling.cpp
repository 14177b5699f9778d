#include "explain/shuffling.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.hpp"
#include "explain/pair_lists.hpp"

namespace arboretum {

namespace {

class Shuffles {
  public:
    explicit Shuffles(const ShuffledTables& tables)
        : forest_(tables.forest),
          rows_(tables.rows),
          shuffled_(tables.shuffled),
          n_rows_(tables.n_rows),
          n_repeats_(tables.n_repeats),
          unknown_(tables.unknown) {}

    void add(int threads, double* out) const {
        parallel_blocks(n_rows_, block, threads, [&](int64_t begin, int64_t end, int) {
            PairLists lists(may_take_both(forest_, unknown_));
            for (int64_t tree = 0; tree < forest_.n_trees; ++tree) walk(tree, begin, end, lists, out);
        });
    }

  private:
    static constexpr int64_t block = 4096, together = -1;

    struct Frame {
        int64_t node;
        Members rows;
        int64_t repeat;  // or together
        size_t top;      // what lies above in the arena is no longer used
    };

    bool is_shuffled(int32_t feature) const { return shuffled_[feature * n_repeats_].data != nullptr; }

    const RawColumn& column(int32_t feature, int64_t repeat) const {
        return repeat != together && is_shuffled(feature) ? shuffled_[feature * n_repeats_ + repeat] : rows_[feature];
    }

    auto number_of(uint32_t row, int64_t repeat) const {
        return [this, row, repeat](int32_t feature) { return column(feature, repeat).number(row); };
    }

    bool reads_shuffled(int64_t node) const {
        if (!forest_.is_oblique(node)) return is_shuffled(forest_.feature[node]);
        for (int64_t term = forest_.projection_start[node]; term < forest_.projection_start[node + 1]; ++term)
            if (is_shuffled(forest_.projection_feature[term])) return true;
        return false;
    }

    void walk(int64_t tree, int64_t begin, int64_t end, PairLists& lists, double* out) const {
        const int64_t start = forest_.tree_start[tree];
        lists.cut(0);
        const Members rows = whole(lists, begin, end, nullptr);
        std::vector<Frame> open{{start, rows, together, lists.top()}};
        while (!open.empty()) {
            const Frame frame = open.back();
            open.pop_back();
            if (frame.rows.n == 0) continue;
            if (forest_.is_leaf(frame.node)) {
                take(frame, std::max(forest_.tree_output[tree], 0), lists, out);
                continue;
            }
            if (frame.repeat == together && reads_shuffled(frame.node)) {
                for (int64_t repeat = 0; repeat < n_repeats_; ++repeat)
                    open.push_back({frame.node, frame.rows, repeat, frame.top});
                continue;
            }
            lists.cut(frame.top);
            const auto [left, right] = divide(
                lists, forest_, frame.node, start, frame.rows, column(forest_.feature[frame.node], frame.repeat),
                unknown_, [&](uint32_t row) { return forest_.projected(frame.node, number_of(row, frame.repeat)); });
            open.push_back({start + forest_.right[frame.node], right, frame.repeat, lists.top()});
            open.push_back({start + forest_.left[frame.node], left, frame.repeat, lists.top()});
        }
    }

    void take(const Frame& frame, int64_t output, PairLists& lists, double* out) const {
        const int64_t first = frame.repeat == together ? 0 : frame.repeat;
        const int64_t last = frame.repeat == together ? n_repeats_ : frame.repeat + 1;
        const uint32_t* row = lists.index(frame.rows.begin);
        const bool linear = forest_.slope_start != nullptr;
        for (int64_t repeat = first; repeat < last; ++repeat)
            for (int64_t i = 0; i < frame.rows.n; ++i) {
                double* total = out + (repeat * n_rows_ + row[i]) * forest_.n_outputs + output;
                const double share = lists.shared() ? lists.share(frame.rows.begin)[i] : 1.0;
                for (int64_t j = 0; j < forest_.width; ++j) {
                    const double value = forest_.value[frame.node * forest_.width + j];
                    total[j] +=
                        share * (linear ? forest_.linear_leaf(frame.node, value, number_of(row[i], repeat)) : value);
                }
            }
    }

    ForestView forest_;
    const RawColumn *rows_, *shuffled_;
    int64_t n_rows_, n_repeats_;
    Unknown unknown_;
};

}  // namespace

void add_shuffled(const ShuffledTables& tables, int threads, double* out) { Shuffles(tables).add(threads, out); }

}  // namespace arboretum
