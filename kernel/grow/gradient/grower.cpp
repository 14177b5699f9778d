#include "grow/gradient/grower.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "grow/gradient/tree_builder.hpp"
#include "grow/gradient/tree_rows_as.hpp"

namespace arboretum {

Grower::Grower(const BinnedData& data, int threads)
    : data_(data),
      threads_(std::clamp(threads, 1, max_threads)),
      median_rows_(median_rows(data.n_rows())),
      leaves_(data, threads_) {}

template <class Layout, class Real>
GrownTree Grower::grow_as(const TreeSample<Real>& sample, const LaneScale& scale, const TreeParams& params,
                          uint64_t seed) {
    const FeatureSelection selection = select_tree_features(data_, params, seed);
    TreeRowsAs<Layout> tree_rows(data_, scale, selection, threads_, space_);
    const WideSum total = tree_rows.fill(sample);
    TreeBuilder builder(data_, scale, params, selection, seed, threads_, space_, tree_rows);
    GrownTree tree = builder.grow_from({.end = sample.n_rows}, total);
    std::vector<RowLeaves::Group> groups;
    for (uint32_t id = 0; id < tree.nodes.size(); ++id)
        if (tree.nodes[id].is_leaf()) groups.push_back({tree_rows.numbers(builder.rows_of(id)), id});
    leaves_.find(tree, sample.rows, sample.n_rows, groups);
    return tree;
}

template <class Real>
GrownTree Grower::grow(const Real* gradients, const Real* hessians, const Row* rows, const double* factor,
                       int64_t n_rows, const TreeParams& params, uint64_t seed) {
    TreeSample<Real> sample{gradients, hessians, rows, n_rows};
    if (rows != nullptr || factor != nullptr)
        sample = gather_sample(gradients, hessians, rows, factor, n_rows, threads_, sampled_);
    const LaneFacts facts = lane_facts(sample, median_rows_, lane_units_, threads_);
    const LaneScale scale = choose_scale(facts, Real{}), wide = wide_scale(facts);
    GrownTree tree = scale.packed ? grow_as<NarrowLayout<Real>>(sample, scale, params, seed)
                                  : grow_as<Wide>(sample, scale, params, seed);
    tree.packed = scale.packed;
    put_node_sums(leaves_.sum(sample, wide, tree.nodes.size()), wide, params, tree);
    return tree;
}

template GrownTree Grower::grow(const float*, const float*, const Row*, const double*, int64_t, const TreeParams&,
                                uint64_t);
template GrownTree Grower::grow(const double*, const double*, const Row*, const double*, int64_t, const TreeParams&,
                                uint64_t);

}  // namespace arboretum
