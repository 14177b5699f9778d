#include "grow/gradient/grower.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/parallel.hpp"
#include "grow/gradient/tree_builder.hpp"
#include "grow/gradient/tree_rows_as.hpp"
#include "grow/prune_splits.hpp"
#include "grow/route_rows.hpp"

namespace arboretum {

namespace {

void mark_inheriting(GrownTree& tree, const TreeParams& params) {
    for (size_t id = 1; id < tree.nodes.size(); ++id)
        tree.nodes[id].inherits =
            tree.nodes[id].n_rows < params.min_samples_leaf || tree.hessians[id] < params.min_child_weight;
}

}  // namespace

Grower::Grower(const BinnedData& data, int threads)
    : data_(data), threads_(std::clamp(threads, 1, max_threads)), median_rows_(median_rows(data.n_rows())) {}

void Grower::prune(GrownTree& tree, double least_gain) {
    size_t n_nodes = tree.nodes.size();
    std::vector<uint32_t> place = prune_splits(tree, least_gain);
    if (tree.nodes.size() == n_nodes) return;
    with_leaves([&](auto* leaves) {
        using Leaf = std::remove_pointer_t<decltype(leaves)>;
        parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
            for (int64_t row = begin; row < end; ++row) leaves[row] = static_cast<Leaf>(place[leaves[row]]);
        });
    });
}

std::span<const uint32_t> Grower::leaf_of_row() const {
    uint32_t* leaves = large_leaves_.get<uint32_t>(data_.n_rows());
    if (std::exchange(leaves_are_small_, false))
        parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
            std::copy(small_leaves_.get<uint8_t>() + begin, small_leaves_.get<uint8_t>() + end, leaves + begin);
        });
    return {leaves, static_cast<size_t>(data_.n_rows())};
}

void Grower::add_values(const double* node_values, double* raw) const {
    with_leaves([&](const auto* leaves) {
        parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
            for (int64_t row = begin; row < end; ++row) raw[row] += node_values[leaves[row]];
        });
    });
}

template <class Layout, class Real>
GrownTree Grower::grow_as(const Real* gradients, const Real* hessians, const Row* rows, int64_t n_rows,
                          const LaneScale& scale, const TreeParams& params, uint64_t seed) {
    const FeatureSelection selection = select_tree_features(data_, params, seed);
    TreeRowsAs<Layout> tree_rows(data_, scale, selection, threads_, space_);
    const WideSum total = tree_rows.fill(gradients, hessians, rows, n_rows);
    TreeBuilder builder(data_, scale, params, selection, seed, threads_, space_, tree_rows);
    GrownTree tree = builder.grow_from(n_rows, total);
    find_leaves(tree, builder, rows, n_rows);
    return tree;
}

void Grower::find_leaves(const GrownTree& tree, const TreeBuilder& builder, const Row* rows, int64_t n_rows) {
    RowRouter router(tree, data_);
    leaves_are_small_ = router.small();
    if (leaves_are_small_)
        small_leaves_.get<uint8_t>(data_.n_rows());
    else
        large_leaves_.get<uint32_t>(data_.n_rows());
    if (leaves_are_small_ && rows != nullptr) {  // faster for all rows than for those outside the sample
        auto* leaves = small_leaves_.get<uint8_t>();
        parallel_blocks(data_.n_rows(), RowRouter::block, threads_,
                        [&](int64_t begin, int64_t end, int) { router.route_small(begin, end, leaves + begin); });
        return;
    }
    with_leaves([&](auto* leaves) {
        using Leaf = std::remove_pointer_t<decltype(leaves)>;
        for (uint32_t id = 0; id < tree.nodes.size(); ++id) {
            if (!tree.nodes[id].is_leaf()) continue;
            const RowNumbers numbers = builder.rows_of(id);
            parallel_blocks(numbers.size(), 16384, threads_, [=](int64_t begin, int64_t end, int) {
                for (int64_t i = begin; i < end; ++i) leaves[numbers[i]] = static_cast<Leaf>(id);
            });
        }
    });
    if (rows != nullptr) walk_others(tree, rows, n_rows);
}

template <class Real>
void Grower::gather(const Real* gradients, const Real* hessians, const Row* rows, const double* factor, int64_t n) {
    Real *sampled_gradients = sampled_[0].get<Real>(n), *sampled_hessians = sampled_[1].get<Real>(n);
    auto gather_by = [&](auto row_at, auto factor_at) {
        parallel_blocks(n, 16384, threads_, [=](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i) {
                sampled_gradients[i] = static_cast<Real>(gradients[row_at(i)] * factor_at(i));
                sampled_hessians[i] = static_cast<Real>(hessians[row_at(i)] * factor_at(i));
            }
        });
    };
    auto own_row = [=](int64_t i) { return rows[i]; };
    auto own_factor = [=](int64_t i) { return factor[i]; };
    if (rows == nullptr)
        gather_by([](int64_t i) { return i; }, own_factor);
    else if (factor == nullptr)
        gather_by(own_row, [](int64_t) { return 1.0; });
    else
        gather_by(own_row, own_factor);
}

void Grower::walk_others(const GrownTree& tree, const Row* rows, int64_t n_rows) {
    parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
        const Row* next = std::lower_bound(rows, rows + n_rows, static_cast<Row>(begin));
        for (int64_t row = begin; row < end; ++row) {
            if (next != rows + n_rows && *next == row)
                ++next;
            else
                large_leaves_.get<uint32_t>()[row] = route_codes(tree, data_, row);
        }
    });
}

template <class Real>
void Grower::sum_leaves(GrownTree& tree, const LaneScale& scale, const Real* gradients, const Real* hessians,
                        const Row* rows, int64_t n_rows) const {
    std::vector<std::vector<WideSum>> partial(threads_);
    with_leaves([&](const auto* leaves) {
        parallel_blocks(n_rows, 16384, threads_, [&](int64_t begin, int64_t end, int worker) {
            std::vector<WideSum>& sums = partial[worker];
            sums.resize(tree.nodes.size());
            for (int64_t i = begin; i < end; ++i) {
                Row row = rows != nullptr ? rows[i] : static_cast<Row>(i);
                sums[leaves[row]] += wide_stat(gradients[i], hessians[i], scale);
            }
        });
    });
    std::vector<WideSum> total(tree.nodes.size());
    for (const std::vector<WideSum>& sums : partial)
        for (size_t id = 0; id < sums.size(); ++id) total[id] += sums[id];
    tree.gradients.resize(total.size());
    tree.hessians.resize(total.size());
    for (size_t id = total.size(); id-- > 0;) {
        const GrownNode& node = tree.nodes[id];
        if (!node.is_leaf()) total[id] += total[node.left] + total[node.right];
        tree.gradients[id] = scale.gradient_of(total[id]);
        tree.hessians[id] = scale.hessian_of(total[id]);
    }
}

template <class Real>
GrownTree Grower::grow(const Real* gradients, const Real* hessians, const Row* rows, const double* factor,
                       int64_t n_rows, const TreeParams& params, uint64_t seed) {
    using Narrow = std::conditional_t<std::is_same_v<Real, float>, Short, Packed>;
    if (rows != nullptr || factor != nullptr) {  // from here on, gradients and hessians lie in the order of `rows`
        gather(gradients, hessians, rows, factor, n_rows);
        gradients = sampled_[0].get<Real>();
        hessians = sampled_[1].get<Real>();
    }
    LaneFacts facts = lane_facts(gradients, hessians, rows, n_rows, median_rows_, lane_units_, threads_);
    LaneScale scale = choose_scale(facts, Real{});
    GrownTree tree = scale.packed ? grow_as<Narrow>(gradients, hessians, rows, n_rows, scale, params, seed)
                                  : grow_as<Wide>(gradients, hessians, rows, n_rows, scale, params, seed);
    tree.packed = scale.packed;
    sum_leaves(tree, wide_scale(facts), gradients, hessians, rows, n_rows);
    if (params.growth == Growth::symmetric) mark_inheriting(tree, params);
    return tree;
}

template GrownTree Grower::grow(const float*, const float*, const Row*, const double*, int64_t, const TreeParams&,
                                uint64_t);
template GrownTree Grower::grow(const double*, const double*, const Row*, const double*, int64_t, const TreeParams&,
                                uint64_t);

}  // namespace arboretum
