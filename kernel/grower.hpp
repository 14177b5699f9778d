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
            gradients = gather(gradients, rows, factor, n_rows, sampled_[0]);
            hessians = gather(hessians, rows, factor, n_rows, sampled_[1]);
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
        auto* leaf_of_row = space_.leaf_of_row.get<uint32_t>();
        parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
            for (int64_t row = begin; row < end; ++row) leaf_of_row[row] = place[leaf_of_row[row]];
        });
    }

    // Node of the leaf that each row of the table reached in the last tree.
    std::span<const uint32_t> leaf_of_row() const {
        return {space_.leaf_of_row.get<uint32_t>(), static_cast<size_t>(data_.n_rows())};
    }

    // raw[row] += node_values[leaf of row]
    void add_values(const double* node_values, double* raw) const {
        parallel_blocks(data_.n_rows(), 16384, threads_, [&](int64_t begin, int64_t end, int) {
            for (int64_t row = begin; row < end; ++row) raw[row] += node_values[leaf_of_row()[row]];
        });
    }

  private:
    template <class Layout, class Real>
    GrownTree grow_as(const Real* gradients, const Real* hessians, const Row* rows, int64_t n_rows,
                      const LaneScale& scale, const TreeParams& params, uint64_t seed) {
        WideSum total = fill_entries<Layout>(gradients, hessians, rows, n_rows, scale);
        TreeBuilder<Layout> builder(data_, scale, params, seed, threads_, space_);
        GrownTree tree = builder.grow(n_rows, total);
        uint32_t* leaf_of_row = space_.leaf_of_row.template get<uint32_t>(data_.n_rows());
        RowRouter router(tree.nodes, data_);
        if (rows != nullptr && router.small()) {  // sooner done for all rows than for those outside the sample
            router.route_all(threads_, leaf_of_row);
            return tree;
        }
        builder.for_each_leaf(tree, [&](uint32_t leaf, const Entry<Layout>* entries, int64_t n) {
            parallel_blocks(n, 16384, threads_, [&](int64_t begin, int64_t end, int) {
                for (int64_t i = begin; i < end; ++i) leaf_of_row[entries[i].row] = leaf;
            });
        });
        if (rows != nullptr) walk_others(tree, rows, n_rows);
        return tree;
    }

    template <class Real>
    const Real* gather(const Real* values, const Row* rows, const double* factor, int64_t n, Buffer& buffer) {
        Real* gathered = buffer.get<Real>(n);
        parallel_blocks(n, 16384, threads_, [=](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i) gathered[i] = values[rows != nullptr ? rows[i] : i];
            if (factor == nullptr) return;
            for (int64_t i = begin; i < end; ++i) gathered[i] = static_cast<Real>(gathered[i] * factor[i]);
        });
        return gathered;
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
        parallel_blocks(n_rows, 16384, threads_, [&](int64_t begin, int64_t end, int worker) {
            std::vector<WideSum>& sums = partial[worker];
            sums.resize(tree.nodes.size());
            for (int64_t i = begin; i < end; ++i) {
                Row row = rows != nullptr ? rows[i] : static_cast<Row>(i);
                sums[leaf_of_row()[row]] += wide_stat(gradients[i], hessians[i], tree.wide);
            }
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
    Workspace space_;
    std::array<Buffer, 2> sampled_;  // gradients and hessians of a sample
};

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
