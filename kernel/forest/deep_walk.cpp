#include "forest/deep_walk.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/parallel.hpp"
#include "data/binning.hpp"
#include "data/cut_search.hpp"

namespace arboretum {

namespace {

constexpr int64_t node_block = 1 << 15;  // nodes that are worth a thread

// Nodes by the feature that they read, and leaves after them: a counting sort, by blocks of nodes in parallel.
//
//   start     0            3          5        of each used feature; the last one is of leaves
//   nodes     0   2   7  | 1   9    | …        positions
//   cuts      .5  .2  .5 | 3.  1.   | …        thresholds
struct NodesByFeature {
    std::vector<int64_t> start;
    PageVector<uint32_t> nodes;
    PageVector<double> cuts;

    NodesByFeature(const CompiledForest& forest, int threads) {
        const int64_t n = static_cast<int64_t>(forest.nodes.size()), n_blocks = (n + node_block - 1) / node_block;
        const size_t n_used = forest.used.size(), n_groups = n_used + 1;
        auto group_of = [&](int64_t i) -> size_t {
            return forest.is_leaf(static_cast<uint32_t>(i)) ? n_used : forest.nodes[i].used();
        };
        std::vector<int64_t> next(n_blocks * n_groups);  // block × group: how many; then where the next one goes
        parallel_blocks(n, node_block, threads, [&](int64_t begin, int64_t end, int) {
            int64_t* own = next.data() + begin / node_block * n_groups;
            for (int64_t i = begin; i < end; ++i) ++own[group_of(i)];
        });
        int64_t total = 0;
        for (size_t group = 0; group < n_groups; ++group) {
            start.push_back(total);
            for (int64_t block = 0; block < n_blocks; ++block)
                total += std::exchange(next[block * n_groups + group], total);
        }
        start.push_back(total);
        nodes.resize(n);
        cuts.resize(n);
        parallel_blocks(n, node_block, threads, [&](int64_t begin, int64_t end, int) {
            int64_t* own = next.data() + begin / node_block * n_groups;
            for (int64_t i = begin; i < end; ++i) {
                const int64_t at = own[group_of(i)]++;
                nodes[at] = static_cast<uint32_t>(i);
                cuts[at] = forest.nodes[i].threshold;
            }
        });
    }
};

}  // namespace

template <class Value>
void DeepForest::rank_as(const RawColumn& column, const std::vector<Value>& cuts, size_t used, int64_t begin, int64_t n,
                         Codes& codes) const {
    Value values[search_chunk];
    int ranks[search_chunk];
    for (int64_t first = 0; first < n; first += search_chunk) {
        const int count = static_cast<int>(std::min<int64_t>(search_chunk, n - first));
        for (int i = 0; i < count; ++i) values[i] = column.at<Value>(begin + first + i);
        search_cuts(values, count, cuts, ranks);
        for (int i = 0; i < count; ++i) {
            const uint16_t rank = static_cast<uint16_t>(ranks[i]);
            uint16_t* row = codes.ranks.data() + (first + i) * codes.stride;
            if (!codes.has_missing) {
                row[used] = rank;
                continue;
            }
            const bool missing = values[i] != values[i];
            row[2 * used] = missing ? 0 : rank;
            row[2 * used + 1] = missing ? missing_right : rank;
        }
    }
}

std::optional<DeepForest> DeepForest::compile(const CompiledForest& forest, int threads) {
    const auto n_nodes = static_cast<int64_t>(forest.nodes.size());
    const auto n_used = static_cast<int64_t>(forest.used.size());
    const NodesByFeature sorted(forest, threads);
    DeepForest deep;
    deep.nodes_.resize(n_nodes);
    deep.cuts64_.resize(n_used);
    deep.cuts32_.resize(n_used);
    std::atomic<bool> too_many = false;
    parallel_for(n_used, threads, [&](int64_t used, int) {
        const int64_t begin = sorted.start[used], n = sorted.start[used + 1] - begin;
        const RawColumn column{reinterpret_cast<const char*>(sorted.cuts.data() + begin), sizeof(double),
                               ValueType::float64};
        const RankedColumn ranked = std::move(rank_columns({column}, n, 1)[0]);
        if (ranked.values.size() >= missing_right) too_many = true;
        deep.cuts64_[used] = padded_cuts<double>(ranked.values);
        deep.cuts32_[used] = padded_cuts<float>(ranked.values);
        for (int64_t i = 0; i < n; ++i) {
            const uint32_t position = sorted.nodes[begin + i];
            const WalkNode& node = forest.nodes[position];
            deep.nodes_[position] = {node.left, static_cast<uint16_t>(node.place),
                                     static_cast<uint16_t>(ranked.codes[i])};
        }
    });
    if (too_many) return std::nullopt;
    for (int64_t i = sorted.start[n_used]; i < n_nodes; ++i) deep.nodes_[sorted.nodes[i]] = {sorted.nodes[i], 0, stays};
    return deep;
}

DeepForest::Codes DeepForest::rank(const std::vector<const RawColumn*>& columns, int64_t begin, int64_t n) const {
    bool has_missing = false;
    for (const RawColumn* column : columns) has_missing |= sees_missing(*column, begin, n);
    const int64_t stride = static_cast<int64_t>(columns.size()) * (has_missing ? 2 : 1);
    Codes codes{std::vector<uint16_t>(n * stride), stride, has_missing};
    for (size_t used = 0; used < columns.size(); ++used) {
        if (columns[used]->type == ValueType::float32)
            rank_as<float>(*columns[used], cuts32_[used], used, begin, n, codes);
        else
            rank_as<double>(*columns[used], cuts64_[used], used, begin, n, codes);
    }
    return codes;
}

bool DeepForest::sees_missing(const RawColumn& column, int64_t begin, int64_t n) {
    auto any_nan = [&](auto zero) {
        bool missing = false;
        for (int64_t i = begin; i < begin + n; ++i) {
            const auto value = column.at<decltype(zero)>(i);
            missing |= value != value;
        }
        return missing;
    };
    return column.type == ValueType::float32 ? any_nan(0.0f) : any_nan(0.0);
}

}  // namespace arboretum
