// Forests of impurity trees: every tree draws its rows and grows on one thread; a few trees share the threads.
#pragma once

#include <cstdint>
#include <vector>

#include "data/binned_data.hpp"
#include "grow/grown_tree.hpp"
#include "grow/impurity/cuts.hpp"
#include "grow/impurity/projections.hpp"
#include "grow/impurity/target.hpp"
#include "grow/tree_range.hpp"

namespace arboretum {

// Rows in an order that depends on their content alone: by a hash of codes, categories, numbers that nodes project, and
// target. Draws by place in this order are the same however the table is sorted, and whether a row has weight 3 or
// comes three times. Equal rows go by their weight, if there is one.
std::vector<Row> content_order(const BinnedData& data, const CodeEdges* edges, const Projections& projections,
                               const int32_t* classes, const double* numbers, int n_outputs, const double* weight,
                               int threads);

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

    void draw_copies(uint64_t key, int64_t n_rows, std::vector<uint32_t>& copies) const;

  private:
    int64_t place(int64_t begin, int64_t end, double u) const;
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

// With one kind of statistics (impurity.hpp); each is compiled once, by grow_*.cpp.
template <class Statistics>
GrownForest grow_with(const ForestInputs& inputs, const TreeRange& range, bool with_risk);

class ForestGrower {
  public:
    ForestGrower(const BinnedData& data, Target target, SplitRules rules, CodeEdges edges, Projections projections,
                 Bootstrap bootstrap, int threads);

    ForestGrower(const ForestGrower&) = delete;
    ForestGrower& operator=(const ForestGrower&) = delete;

    // with_risk: also what pruning needs.
    GrownForest grow(int64_t first, int64_t n, uint64_t seed, bool with_risk) const;

  private:
    ForestInputs inputs_;
};

}  // namespace arboretum
