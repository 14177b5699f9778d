#include "forest/deep_walk.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "data/cut_search.hpp"

namespace arboretum {

namespace {

constexpr int64_t node_block = 1 << 15;  // nodes that are worth a thread

// The distinct thresholds of a feature, and the rank of each: a table of hashes, since a forest has far more nodes than
// thresholds.
class ThresholdRanks {
  public:
    void insert(double threshold) {
        if (2 * n_ >= slots_.size()) grow();
        Slot& slot = find(key(threshold));
        if (slot.is_free) slot = {key(threshold), 0, false}, ++n_;
    }

    size_t size() const { return n_; }
    uint32_t rank(double threshold) const { return slots_[place(key(threshold))].rank; }

    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Slot& slot : slots_)
            if (!slot.is_free) visit(std::bit_cast<double>(slot.key));
    }

    // Ranks every threshold; returns them, rising.
    std::vector<double> sort() {
        std::vector<double> rising;
        for_each([&](double threshold) { rising.push_back(threshold); });
        std::sort(rising.begin(), rising.end());
        for (size_t i = 0; i < rising.size(); ++i) find(key(rising[i])).rank = static_cast<uint32_t>(i);
        return rising;
    }

  private:
    struct Slot {
        uint64_t key = 0;
        uint32_t rank = 0;
        bool is_free = true;
    };

    static uint64_t key(double threshold) { return std::bit_cast<uint64_t>(threshold + 0.0); }  // −0 is 0

    size_t place(uint64_t key) const {
        size_t at = mix(key) & (slots_.size() - 1);
        while (!slots_[at].is_free && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
        return at;
    }
    Slot& find(uint64_t key) { return slots_[place(key)]; }

    void grow() {
        std::vector<Slot> old(std::max<size_t>(64, 4 * slots_.size()));
        old.swap(slots_);
        for (const Slot& slot : old)
            if (!slot.is_free) find(slot.key) = slot;
    }

    std::vector<Slot> slots_;
    size_t n_ = 0;
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
    using Ranks = std::vector<ThresholdRanks>;  // of each used feature
    std::vector<Ranks> of_thread(std::max(threads, 1), Ranks(forest.used.size()));
    std::atomic<bool> too_many = false;
    auto insert = [&](ThresholdRanks& ranks, double threshold) {
        ranks.insert(threshold);
        if (ranks.size() >= missing_right) too_many = true;
    };
    parallel_blocks(n_nodes, node_block, threads, [&](int64_t begin, int64_t end, int worker) {
        if (too_many) return;
        for (int64_t i = begin; i < end; ++i)
            if (const WalkNode& node = forest.nodes[i]; !forest.is_leaf(static_cast<uint32_t>(i)))
                insert(of_thread[worker][node.used()], node.threshold);
    });
    Ranks& ranks = of_thread[0];
    for (size_t thread = 1; thread < of_thread.size(); ++thread)
        for (size_t used = 0; used < ranks.size(); ++used)
            of_thread[thread][used].for_each([&](double threshold) { insert(ranks[used], threshold); });
    if (too_many) return std::nullopt;
    DeepForest deep;
    for (ThresholdRanks& of_feature : ranks) {
        const std::vector<double> rising = of_feature.sort();
        deep.cuts64_.push_back(padded_cuts<double>(rising));
        deep.cuts32_.push_back(padded_cuts<float>(rising));
    }
    deep.nodes_.resize(n_nodes);
    parallel_blocks(n_nodes, node_block, threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
            const WalkNode& node = forest.nodes[i];
            const auto position = static_cast<uint32_t>(i);
            deep.nodes_[i] = forest.is_leaf(position)
                                 ? Node{position, 0, stays}
                                 : Node{node.left, static_cast<uint16_t>(node.place),
                                        static_cast<uint16_t>(ranks[node.used()].rank(node.threshold))};
        }
    });
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
