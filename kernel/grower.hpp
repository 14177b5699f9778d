// From gradients and hessians to a tree: scales, quantises, grows, and sums the leaves exactly.
#pragma once

#include <span>

#include "prune_splits.hpp"
#include "route_rows.hpp"

namespace arboretum {

class Grower {
  public:
    Grower(const BinnedData& data, int threads)
        : data_(data), threads_(std::clamp(threads, 1, ThreadPool::max_threads)) {}

    Grower(const Grower&) = delete;
    Grower& operator=(const Grower&) = delete;

    // Real: double for tables of up to 65,536 rows, float for larger ones (see lanes.hpp).
    // rows: rising row numbers of the sample, or null for all rows. factor: what multiplies gradient and hessian of
    // each, or null for 1.
    template <class Real>
    GrownTree grow(const Real* gradients, const Real* hessians, const Row* rows, const double* factor, int64_t n_rows,
                   const TreeParams& params, uint64_t seed) {
        using Narrow = std::conditional_t<std::is_same_v<Real, float>, Short, Packed>;
        if (rows != nullptr || factor != nullptr) {  // from here on, gradients and hessians lie in the order of `rows`
            gather(gradients, hessians, rows, factor, n_rows);
            gradients = sampled_[0].get<Real>();
            hessians = sampled_[1].get<Real>();
        }
        LaneFacts facts = lane_facts(gradients, hessians, n_rows, threads_);
        require_finite(facts);
        LaneScale scale = choose_scale(facts, Real{});
        GrownTree tree = scale.packed ? grow_as<Narrow>(gradients, hessians, rows, n_rows, scale, params, seed)
                                      : grow_as<Wide>(gradients, hessians, rows, n_rows, scale, params, seed);
        tree.packed = scale.packed;
        tree.wide = wide_scale(facts);
        sum_leaves(tree, gradients, hessians, rows, n_rows);
        if (params.growth == Growth::symmetric) mark_inheriting(tree, params);
        return tree;
    }

    // Prunes the last tree, and moves rows to the leaves that are left.
    void prune(GrownTree& tree, double least_gain) {
        size_t n_nodes = tree.nodes.size();
        std::vector<uint32_t> place = prune_splits(tree.nodes, least_gain);
        if (tree.nodes.size() == n_nodes) return;
        with_leaves([&](auto* leaves) {
            using Leaf = std::remove_pointer_t<decltype(leaves)>;
            parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
                for (int64_t row = begin; row < end; ++row) leaves[row] = static_cast<Leaf>(place[leaves[row]]);
            });
        });
    }

    // Node of the leaf that each row of the table reached in the last tree.
    std::span<const uint32_t> leaf_of_row() const {
        uint32_t* leaves = space_.leaf_of_row.get<uint32_t>(data_.n_rows());
        if (std::exchange(leaves_are_small_, false))
            parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
                std::copy(small_leaves_.get<uint8_t>() + begin, small_leaves_.get<uint8_t>() + end, leaves + begin);
            });
        return {leaves, static_cast<size_t>(data_.n_rows())};
    }

    // raw[row] += node_values[leaf of row]
    void add_values(const double* node_values, double* raw) const {
        with_leaves([&](const auto* leaves) {
            parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
                for (int64_t row = begin; row < end; ++row) raw[row] += node_values[leaves[row]];
            });
        });
    }

  private:
    // use(leaves), in the form that the last tree left them.
    template <class Use>
    void with_leaves(Use&& use) const {
        if (leaves_are_small_)
            use(small_leaves_.get<uint8_t>());
        else
            use(space_.leaf_of_row.get<uint32_t>());
    }

    template <class Layout, class Real>
    GrownTree grow_as(const Real* gradients, const Real* hessians, const Row* rows, int64_t n_rows,
                      const LaneScale& scale, const TreeParams& params, uint64_t seed) {
        WideSum total = fill_entries<Layout>(gradients, hessians, rows, n_rows, scale);
        TreeBuilder<Layout> builder(data_, scale, params, seed, threads_, space_);
        GrownTree tree = builder.grow(n_rows, total);
        RowRouter router(tree.nodes, data_);
        leaves_are_small_ = router.small();
        if (leaves_are_small_)
            small_leaves_.get<uint8_t>(data_.n_rows());
        else
            space_.leaf_of_row.template get<uint32_t>(data_.n_rows());
        if (leaves_are_small_ && rows != nullptr) {  // sooner done for all rows than for those outside the sample
            auto* leaves = small_leaves_.get<uint8_t>();
            parallel_blocks(data_.n_rows(), RowRouter::block, threads_,
                            [&](int64_t begin, int64_t end, int) { router.route_small(begin, end, leaves + begin); });
            return tree;
        }
        with_leaves([&](auto* leaves) {
            using Leaf = std::remove_pointer_t<decltype(leaves)>;
            builder.for_each_leaf(tree, [&](uint32_t leaf, const Entry<Layout>* entries, int64_t n) {
                parallel_blocks(n, 16384, threads_, [&](int64_t begin, int64_t end, int) {
                    for (int64_t i = begin; i < end; ++i) leaves[entries[i].row] = static_cast<Leaf>(leaf);
                });
            });
        });
        if (rows != nullptr) walk_others(tree, rows, n_rows);
        return tree;
    }

    // Both in one pass: it waits for memory, of which the rows and factors are half.
    template <class Real>
    void gather(const Real* gradients, const Real* hessians, const Row* rows, const double* factor, int64_t n) {
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

    template <class Layout, class Real>
    WideSum fill_entries(const Real* gradients, const Real* hessians, const Row* rows, int64_t n_rows,
                         const LaneScale& scale) {
        for (Buffer& buffer : space_.entries) buffer.get<Entry<Layout>>(n_rows);
        space_.flags.get<uint8_t>(n_rows);
        auto* entries = space_.entries[0].get<Entry<Layout>>();
        std::vector<WideSum> sums((n_rows + fill_block - 1) / fill_block);
        parallel_blocks(n_rows, fill_block, threads_, [&](int64_t begin, int64_t end, int) {
            WideSum sum;
            for (int64_t first = begin; first < end; first += chunk)
                sum += fill_chunk(gradients, hessians, rows, first, std::min(end, first + chunk), scale, entries);
            sums[begin / fill_block] = sum;
        });
        WideSum total;
        for (const WideSum& sum : sums) total += sum;
        return total;
    }

    template <class Layout, class Real>
    static WideSum fill_chunk(const Real* gradients, const Real* hessians, const Row* rows, int64_t begin, int64_t end,
                              const LaneScale& scale, Entry<Layout>* entries) {
        typename Layout::Stat stats[chunk];
        int64_t n = end - begin;
        if constexpr (std::is_same_v<Layout, Wide>)
            for (int64_t i = 0; i < n; ++i) stats[i] = wide_stat(gradients[begin + i], hessians[begin + i], scale);
        else
            quantise_rows(gradients + begin, hessians + begin, n, scale.gradient, scale.hessian, stats);
        typename Layout::Sum sum{};
        for (int64_t i = 0; i < n; ++i) {
            entries[begin + i] = {stats[i], rows != nullptr ? rows[begin + i] : static_cast<Row>(begin + i)};
            sum += Layout::widen(stats[i]);
        }
        return Layout::unpack(sum);
    }

    // Rows outside the sample find their leaf by walking.
    void walk_others(const GrownTree& tree, const Row* rows, int64_t n_rows) {
        parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
            const Row* next = std::lower_bound(rows, rows + n_rows, static_cast<Row>(begin));
            for (int64_t row = begin; row < end; ++row) {
                if (next != rows + n_rows && *next == row)
                    ++next;
                else
                    space_.leaf_of_row.get<uint32_t>()[row] = route_codes(tree.nodes, data_, row);
            }
        });
    }

    // Exact sums of the sample's gradients and hessians in every node.
    template <class Real>
    void sum_leaves(GrownTree& tree, const Real* gradients, const Real* hessians, const Row* rows, int64_t n_rows) {
        std::vector<std::vector<WideSum>> partial(threads_);
        with_leaves([&](const auto* leaves) {
            parallel_blocks(n_rows, 16384, threads_, [&](int64_t begin, int64_t end, int worker) {
                std::vector<WideSum>& sums = partial[worker];
                sums.resize(tree.nodes.size());
                for (int64_t i = begin; i < end; ++i) {
                    Row row = rows != nullptr ? rows[i] : static_cast<Row>(i);
                    sums[leaves[row]] += wide_stat(gradients[i], hessians[i], tree.wide);
                }
            });
        });
        for (const std::vector<WideSum>& sums : partial)
            for (size_t id = 0; id < sums.size(); ++id) tree.nodes[id].sum += sums[id];
        for (size_t id = tree.nodes.size(); id-- > 1;) tree.nodes[tree.nodes[id].parent].sum += tree.nodes[id].sum;
    }

    static void mark_inheriting(GrownTree& tree, const TreeParams& params) {
        for (size_t id = 1; id < tree.nodes.size(); ++id) {
            GrownNode& node = tree.nodes[id];
            node.inherits =
                node.n_rows < params.min_samples_leaf || tree.wide.hessian_of(node.sum) < params.min_child_weight;
        }
    }

    static constexpr int64_t chunk = 1024, fill_block = 16 * chunk;

    const BinnedData& data_;
    int threads_;
    mutable Workspace space_;        // leaf_of_row is filled when it is asked for
    std::array<Buffer, 2> sampled_;  // gradients and hessians of a sample
    Buffer small_leaves_;            // leaf_of_row in bytes, for a tree of up to 256 nodes
    mutable bool leaves_are_small_ = false;
};

// Values of the leaves as they are; inner nodes get the mean of their children's, by rows.
inline std::vector<double> with_means(const std::vector<GrownNode>& nodes, const double* of_leaves) {
    std::vector<double> values(of_leaves, of_leaves + nodes.size());
    for (size_t id = nodes.size(); id-- > 0;) {
        const GrownNode& node = nodes[id];
        if (node.is_leaf()) continue;
        const double share =
            static_cast<double>(nodes[node.left].n_rows) / static_cast<double>(std::max<int64_t>(node.n_rows, 1));
        values[id] = share * values[node.left] + (1 - share) * values[node.right];
    }
    return values;
}

// Values of all nodes, the children after their parent: Newton steps, or `renewed` ones from the loss. Nodes that
// inherit take their parent's. Then, top down, every node is clipped to the bounds that its monotone ancestors set; a
// split on a monotone feature bounds its children by the middle of their values, in the units of the values themselves,
// so that the order holds for any loss and any way to find leaf values.
inline std::vector<double> node_values(const GrownTree& tree, const TreeParams& params, const double* renewed) {
    size_t n = tree.nodes.size();
    LeafRule rule = leaf_rule(params);
    std::vector<double> values(n), lower(n, rule.lower), upper(n, rule.upper);
    for (size_t id = 0; id < n; ++id) {
        const GrownNode& node = tree.nodes[id];
        values[id] = renewed != nullptr ? renewed[id]
                                        : rule.value(tree.wide.gradient_of(node.sum), tree.wide.hessian_of(node.sum));
        if (node.inherits) values[id] = values[node.parent];
    }
    if (params.monotone.empty()) {
        for (double& value : values) value = std::clamp(value, rule.lower, rule.upper);
        return values;
    }
    for (size_t id = 0; id < n; ++id) {
        values[id] = std::clamp(values[id], lower[id], upper[id]);
        const GrownNode& node = tree.nodes[id];
        if (node.is_leaf()) continue;
        for (int32_t child : {node.left, node.right}) {
            lower[child] = lower[id];
            upper[child] = upper[id];
        }
        int direction = params.monotone[node.condition.feature];
        if (direction == 0) continue;
        int32_t low = direction > 0 ? node.left : node.right, high = direction > 0 ? node.right : node.left;
        double middle =
            (std::clamp(values[low], lower[id], upper[id]) + std::clamp(values[high], lower[id], upper[id])) / 2;
        upper[low] = middle;
        lower[high] = middle;
    }
    return values;
}

}  // namespace arboretum
