// Forests of impurity trees: every tree draws its rows and grows on one thread; a few trees share the threads.
// The templates that grow them are in forest_growing.hpp, compiled by kernel/grow_*.cpp.
#pragma once

#include <iterator>

#include "impurity_tree.hpp"

namespace arboretum {

// Rows in an order that depends on their content alone: by a hash of codes, categories, numbers that nodes project, and
// target. Draws by place in this order are the same however the table is sorted, and whether a row has weight 3 or
// comes three times.
inline std::vector<Row> content_order(const BinnedData& data, const CodeEdges* edges, const Projections& projections,
                                      const int32_t* classes, const double* numbers, int n_outputs, int threads) {
    std::vector<std::pair<uint64_t, Row>> keys(data.n_rows());
    parallel_blocks(data.n_rows(), 4096, threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; ++row) {
            uint64_t key = 0;
            for (int o = 0; o < n_outputs; ++o) {
                const int64_t at = row * n_outputs + o;
                key = draw(key, classes != nullptr ? classes[at] : std::bit_cast<uint64_t>(numbers[at] + 0.0));
            }
            for (int32_t f = 0; f < data.n_features(); ++f) {
                const Code code = data.code(f, row);
                key = mix(key ^ (edges != nullptr && data.feature(f).categorical ? edges->key(f, code) : code));
            }
            const double* values = projections.row(static_cast<Row>(row));
            for (int i = 0; i < projections.n_features(); ++i)
                key = draw(key, std::bit_cast<uint64_t>(values[i] + 0.0));
            keys[row] = {key, static_cast<Row>(row)};
        }
    });
    std::sort(keys.begin(), keys.end());
    std::vector<Row> rows;
    for (const auto& [key, row] : keys) rows.push_back(row);
    return rows;
}

// How often each row is drawn for a tree, with replacement. A draw is a hash of (key, number), so that the copies can
// be drawn again at any time: that is how rows out of the bag are known.
//
//   pool        a b b b c │ d e e      rows to draw from, repeated by their weight if weights are whole numbers
//   cumulative                         else the weight up to and including each
//   strata      0           5     8    draws take turns between parts of the pool: classes, if they are balanced
struct Bootstrap {
    int64_t n_draws = 0;  // 0: every row once, no draws
    std::vector<Row> pool;
    std::vector<double> cumulative;
    std::vector<int64_t> strata;

    void draw_copies(uint64_t key, int64_t n_rows, std::vector<uint32_t>& copies) const {
        copies.assign(n_rows, 0);
        const int64_t n_strata = static_cast<int64_t>(strata.size()) - 1;
        for (int64_t i = 0; i < n_draws; ++i) {
            const int64_t stratum = n_strata == 1 ? 0 : i % n_strata;
            ++copies[pool[place(strata[stratum], strata[stratum + 1], unit(draw(key, i)))]];
        }
    }

  private:
    int64_t place(int64_t begin, int64_t end, double u) const {
        if (cumulative.empty()) return begin + static_cast<int64_t>(u * static_cast<double>(end - begin));
        const double low = begin > 0 ? cumulative[begin - 1] : 0, high = cumulative[end - 1];
        const auto first = cumulative.begin() + begin, last = cumulative.begin() + end - 1;
        return std::upper_bound(first, last, low + u * (high - low)) - cumulative.begin();
    }
};

constexpr uint64_t bootstrap_purpose = 0x626f6f74, tree_purpose = 0x74726565;  // "boot", "tree"

inline uint64_t bootstrap_key(uint64_t seed, int64_t tree) { return draw(seed, bootstrap_purpose, tree); }

struct GrownForest {
    std::vector<ImpurityTree> trees;
    int width = 1;

    void extend(GrownForest& more) {
        trees.insert(trees.end(), std::make_move_iterator(more.trees.begin()),
                     std::make_move_iterator(more.trees.end()));
        more.trees.clear();
    }
};

// What a forest is grown from.
struct ForestInputs {
    const BinnedData& data;
    Target target;
    SplitRules rules;
    CodeEdges edges;
    Projections projections;
    Bootstrap bootstrap;
    int threads;
};

// Trees `first` … `first + n − 1` of the forest with this seed.
struct TreeRange {
    int64_t first, n;
    uint64_t seed;
};

GrownForest grow_packed(const ForestInputs& inputs, const TreeRange& range);    // two classes, whole weights
GrownForest grow_weighted(const ForestInputs& inputs, const TreeRange& range);  // two classes
GrownForest grow_lanes(const ForestInputs& inputs, const TreeRange& range);     // many classes, many outputs
GrownForest grow_numbers(const ForestInputs& inputs, const TreeRange& range);   // one number
GrownForest grow_survival(const ForestInputs& inputs, const TreeRange& range);  // times, perhaps censored
GrownForest grow_uplift(const ForestInputs& inputs, const TreeRange& range);    // outcomes of arms

class ForestGrower {
  public:
    ForestGrower(const BinnedData& data, Target target, SplitRules rules, CodeEdges edges, Projections projections,
                 Bootstrap bootstrap, int threads)
        : inputs_{data,
                  std::move(target),
                  std::move(rules),
                  std::move(edges),
                  std::move(projections),
                  std::move(bootstrap),
                  std::clamp(threads, 1, ThreadPool::max_threads)} {
        inputs_.target.choose_scales(inputs_.bootstrap.n_draws);
    }

    ForestGrower(const ForestGrower&) = delete;
    ForestGrower& operator=(const ForestGrower&) = delete;

    GrownForest grow(int64_t first, int64_t n, uint64_t seed) const {
        const TreeRange range{first, n, seed};
        if (inputs_.target.criterion == Criterion::log_rank) return grow_survival(inputs_, range);
        if (inputs_.target.treatment.n_arms > 0) return grow_uplift(inputs_, range);
        if (inputs_.target.is_packable) return grow_packed(inputs_, range);
        if (inputs_.target.is_binary()) return grow_weighted(inputs_, range);
        if (inputs_.target.is_classes() || inputs_.target.n_outputs > 1) return grow_lanes(inputs_, range);
        return grow_numbers(inputs_, range);
    }

  private:
    ForestInputs inputs_;
};

}  // namespace arboretum
