// Grows the trees of a forest with one kind of statistics.
#pragma once

#include "bagging.hpp"

namespace arboretum {

template <class Statistics, class Below>
GrownForest grow_with(const ForestInputs& inputs, const TreeRange& range) {
    using Builder = ImpurityBuilder<Statistics, Below>;
    const Statistics statistics(inputs.target);
    const ForestTask<Statistics> task(inputs.data, inputs.target, statistics, inputs.rules, inputs.edges,
                                      inputs.projections);
    const Builder builder(task);
    GrownForest forest;
    forest.trees.resize(range.n);
    forest.width = inputs.target.width();
    const int workers = range.n >= inputs.threads ? inputs.threads : 1;
    std::vector<typename Builder::Space> spaces;
    for (int i = 0; i < workers; ++i) spaces.emplace_back(task, inputs.threads / workers);
    parallel_for(range.n, workers, [&](int64_t i, int worker) {
        typename Builder::Space& space = spaces[worker];
        const int64_t tree = range.first + i;
        const bool draws = inputs.bootstrap.n_draws > 0;
        if (draws) inputs.bootstrap.draw_copies(bootstrap_key(range.seed, tree), inputs.data.n_rows(), space.copies);
        forest.trees[i] =
            builder.grow(draws ? space.copies.data() : nullptr, draw(range.seed, tree_purpose, tree), space);
    });
    return forest;
}

// Rows of branches carry their codes if a table is narrow enough.
template <class Statistics>
GrownForest grow_as(const ForestInputs& inputs, const TreeRange& range) {
    using Stat = typename Statistics::Stat;
    const int bytes = Travelling<Stat, 64>::bytes(inputs.data);
    if (bytes <= 32) return grow_with<Statistics, Travelling<Stat, 32>>(inputs, range);
    if (bytes <= 64) return grow_with<Statistics, Travelling<Stat, 64>>(inputs, range);
    if (inputs.data.n_features() <= Ranked<Stat>::n_places && !inputs.rules.random_thresholds)
        return grow_with<Statistics, Ranked<Stat>>(inputs, range);
    return grow_with<Statistics, Columns<Stat>>(inputs, range);
}

}  // namespace arboretum
