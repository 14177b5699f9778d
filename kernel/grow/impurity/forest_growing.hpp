// Grows the trees of a forest with one kind of statistics.
#pragma once

#include "grow/impurity/bagging.hpp"
#include "grow/impurity/branch.hpp"

namespace arboretum {

// Where all features are looked at and codes are many, features list the rows of branches. Else rows carry their codes if a
// table is narrow enough, except where that does not work or gains nothing:
// random cuts are drawn between values, which ranks do not hold; and rows may be ranked, or have long statistics.
template <class Statistics>
std::unique_ptr<BranchRows<Statistics>> make_branch_rows(const ForestTask<Statistics>& task) {
    using Stat = typename Statistics::Stat;
    if constexpr (!RanksRows<Statistics> && !requires { Statistics::codes_stay; }) {
        const bool may_travel = !(task.rules.random_thresholds && TravellingCodes::need_ranks(task.data));
        const int64_t bytes = TravellingCodes::bytes(task.data);
        if (may_travel && task.visits_all() && TravellingCodes::need_ranks(task.data))
            return std::make_unique<BranchRowsAs<Statistics, Ordered<Stat>>>(task, 1);
        if (may_travel && bytes <= 16) return std::make_unique<BranchRowsAs<Statistics, Travelling<Stat, 16>>>(task, 1);
        if (may_travel && bytes <= 32) return std::make_unique<BranchRowsAs<Statistics, Travelling<Stat, 32>>>(task, 1);
        if (may_travel && bytes <= 64) return std::make_unique<BranchRowsAs<Statistics, Travelling<Stat, 64>>>(task, 1);
    }
    return std::make_unique<BranchRowsAs<Statistics, Columns<Stat>>>(task, 1);
}

template <class Statistics>
TreeSpace<Statistics> make_space(const ForestTask<Statistics>& task, int threads) {
    TreeSpace<Statistics> space;
    space.top = std::make_unique<BranchRowsAs<Statistics, Columns<typename Statistics::Stat>>>(task, threads);
    for (int i = 0; i < threads; ++i) space.below.push_back(make_branch_rows(task));
    space.branch_nodes = PerThread<GrownTree>(threads);
    return space;
}

template <class Statistics>
GrownForest grow_with(const ForestInputs& inputs, const TreeRange& range, bool with_risk) {
    const Statistics statistics(inputs.target);
    const ForestTask<Statistics> task(inputs.data, inputs.target, statistics, inputs.rules, inputs.edges,
                                      inputs.projections);
    const ImpurityBuilder<Statistics> builder(task);
    GrownForest forest;
    forest.trees.resize(range.n);
    forest.width = inputs.target.width();
    forest.threads = inputs.threads;
    const int workers = range.n >= inputs.threads ? inputs.threads : 1;
    PerThread<TreeSpace<Statistics>> spaces(workers);
    for (TreeSpace<Statistics>& space : spaces) space = make_space(task, inputs.threads / workers);
    parallel_for(range.n, workers, [&](int64_t i, int worker) {
        TreeSpace<Statistics>& space = spaces[worker];
        const int64_t tree = range.first + i;
        const bool draws = inputs.bootstrap.n_draws > 0;
        if (draws) inputs.bootstrap.draw_copies(bootstrap_key(range.seed, tree), inputs.data.n_rows(), space.copies);
        const uint64_t key = tree_key(range.seed, tree);
        forest.trees[i] = {builder.grow(draws ? space.copies.data() : nullptr, key, space), with_risk};
    });
    return forest;
}

}  // namespace arboretum
