// What all trees of a forest share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "data/binned_data.hpp"
#include "grow/impurity/cuts.hpp"
#include "grow/impurity/leaf_summary.hpp"
#include "grow/impurity/projections.hpp"
#include "grow/impurity/target.hpp"

namespace arboretum {

template <class Statistics>
struct ForestTask {
    const BinnedData& data;
    const Target& target;
    const Statistics& statistics;
    const SplitRules& rules;
    const CodeEdges& edges;
    const Projections& projections;
    LeafSummary summary;
    int n_visits;               // features that a node looks at
    bool splits_pairs = false;  // whether nodes of two rows need no search: all they have is numbers, and no limits

    ForestTask(const BinnedData& data, const Target& target, const Statistics& statistics, const SplitRules& rules,
               const CodeEdges& edges, const Projections& projections)
        : data(data),
          target(target),
          statistics(statistics),
          rules(rules),
          edges(edges),
          projections(projections),
          summary(target),
          n_visits(rules.max_features > 0 ? std::min(rules.max_features, data.n_features()) : data.n_features()) {
        bool are_numbers = true;
        for (int32_t f = 0; f < data.n_features(); ++f)
            are_numbers = are_numbers && !data.feature(f).categorical && !data.feature(f).has_missing;
        splits_pairs = are_numbers && rules.max_leaf_nodes <= 0 && rules.min_samples_leaf <= 1 &&
                       rules.min_weight_leaf <= 0 && rules.monotone.empty() && projections.n_projections() == 0;
    }

    bool visits_all() const { return n_visits >= data.n_features() && projections.n_projections() == 0; }

    // Threads share the features of a node of at least this many rows × features.
    bool is_shared(int64_t n_rows) const { return n_rows * n_visits >= shared_work; }
    static constexpr int64_t shared_work = int64_t{1} << 13;

    // Rows of a node, counted by draws and whole weights: three equal rows are one of weight 3.
    int64_t n_copies(const typename Statistics::Word* total, int64_t n_rows) const {
        return target.has_whole_weights ? std::llrint(statistics.weight(total)) : n_rows;
    }
};

}  // namespace arboretum
