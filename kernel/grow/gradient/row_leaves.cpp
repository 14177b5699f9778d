#include "grow/gradient/row_leaves.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "grow/prune_splits.hpp"
#include "grow/route_rows.hpp"

namespace arboretum {

void RowLeaves::find(const GrownTree& tree, const Row* rows, int64_t n_rows, std::span<const Group> groups) {
    RowRouter router(tree, data_);
    are_small_ = router.small();
    if (are_small_)
        small_.get<uint8_t>(data_.n_rows());
    else
        large_.get<uint32_t>(data_.n_rows());
    if (are_small_ && rows != nullptr) {  // faster for all rows than for those outside the sample
        auto* leaves = small_.get<uint8_t>();
        parallel_blocks(data_.n_rows(), RowRouter::block, threads_,
                        [&](int64_t begin, int64_t end, int) { router.route_small(begin, end, leaves + begin); });
        return;
    }
    with_leaves([&](auto* leaves) {
        using Leaf = std::remove_pointer_t<decltype(leaves)>;
        for (const Group& group : groups) {
            const bool arrived = tree.nodes[group.node].is_leaf();
            parallel_blocks(group.rows.size(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
                const RowNumbers numbers = group.rows;
                const uint32_t node = group.node;
                if (arrived)
                    for (int64_t i = begin; i < end; ++i) leaves[numbers[i]] = static_cast<Leaf>(node);
                else
                    for (int64_t i = begin; i < end; ++i)
                        leaves[numbers[i]] = static_cast<Leaf>(route_codes(tree, data_, numbers[i], node));
            });
        }
    });
    if (rows != nullptr) walk_others(tree, rows, n_rows);
}

void RowLeaves::walk_others(const GrownTree& tree, const Row* rows, int64_t n_rows) {
    parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
        const Row* next = std::lower_bound(rows, rows + n_rows, static_cast<Row>(begin));
        for (int64_t row = begin; row < end; ++row) {
            if (next != rows + n_rows && *next == row)
                ++next;
            else
                large_.get<uint32_t>()[row] = route_codes(tree, data_, row);
        }
    });
}

void RowLeaves::prune(GrownTree& tree, double least_gain) {
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

std::span<const uint32_t> RowLeaves::leaf_of_row() const {
    uint32_t* leaves = large_.get<uint32_t>(data_.n_rows());
    if (std::exchange(are_small_, false))
        parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
            std::copy(small_.get<uint8_t>() + begin, small_.get<uint8_t>() + end, leaves + begin);
        });
    return {leaves, static_cast<size_t>(data_.n_rows())};
}

void RowLeaves::add_values(const double* node_values, double* raw) const {
    with_leaves([&](const auto* leaves) {
        parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
            for (int64_t row = begin; row < end; ++row) raw[row] += node_values[leaves[row]];
        });
    });
}

void put_node_sums(std::vector<WideSum> of_leaves, const LaneScale& wide, const TreeParams& params, GrownTree& tree) {
    std::vector<WideSum>& total = of_leaves;
    tree.gradients.resize(total.size());
    tree.hessians.resize(total.size());
    for (size_t id = total.size(); id-- > 0;) {
        const GrownNode& node = tree.nodes[id];
        if (!node.is_leaf()) total[id] += total[node.left] + total[node.right];
        tree.gradients[id] = wide.gradient_of(total[id]);
        tree.hessians[id] = wide.hessian_of(total[id]);
    }
    if (params.growth != Growth::symmetric) return;
    for (size_t id = 1; id < tree.nodes.size(); ++id)
        tree.nodes[id].inherits =
            tree.nodes[id].n_rows < params.min_samples_leaf || tree.hessians[id] < params.min_child_weight;
}

}  // namespace arboretum
