// Raw predictions and leaves straight from columns of raw values; compile.hpp draws what is run here.
//
//   many rows   blocks of block_rows: rank the values of a segment's features, run its programs, add leaf
//   values few rows    one row at a time, eight trees walked at once
//
// Either way a row's total is base + tree 0 + tree 1 + … in this order: the same bits for any batch and any
// threads.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "binning.hpp"
#include "compile.hpp"
#include "parallel.hpp"
#include "route.hpp"
#include "simd.hpp"

namespace arboretum {

constexpr int block_rows = 128;

template <class Value>
struct alignas(64) Lane {
    Value at[block_rows];
};

// ---------------------------------------------------------------------------------------- loops over one
// block

// A category condition becomes a code lane of 0 (left) and 1 (right).
[[gnu::always_inline]] inline const uint8_t* code_lane(const Select& node, const Lane<uint8_t>* codes,
                                                       const Lane<int32_t>* categories,
                                                       const uint32_t* right_sets, Lane<uint8_t>& looked_up) {
    if (node.set == no_set) return codes[node.lane].at;
    const int32_t* category = categories[node.lane].at;
    const uint32_t* set = right_sets + node.set;
    for (int r = 0; r < block_rows; ++r)
        looked_up.at[r] = static_cast<uint8_t>((set[category[r] >> 5] >> (category[r] & 31)) & 1);
    return looked_up.at;
}

ARBORETUM_CLONES inline void run_selects(const Select* begin, const Select* end, const Lane<uint8_t>* codes,
                                         const Lane<int32_t>* categories, const uint32_t* right_sets,
                                         Lane<uint8_t>* slots) {
    Lane<uint8_t> looked_up;
    for (const Select* node = begin; node != end; ++node) {
        const uint8_t* code = code_lane(*node, codes, categories, right_sets, looked_up);
        const uint8_t *left = slots[node->left].at, *right = slots[node->right].at;
        uint8_t *out = slots[node->out].at, k = node->code;
#pragma GCC ivdep
        for (int r = 0; r < block_rows; ++r) out[r] = code[r] <= k ? left[r] : right[r];
    }
}

ARBORETUM_CLONES inline void run_levels(const Select* begin, const Select* end, const Lane<uint8_t>* codes,
                                        const Lane<int32_t>* categories, const uint32_t* right_sets,
                                        uint8_t* leaf) {
    Lane<uint8_t> looked_up;
    std::memset(leaf, 0, block_rows);
    for (const Select* level = begin; level != end; ++level) {
        const uint8_t* code = code_lane(*level, codes, categories, right_sets, looked_up);
        uint8_t k = level->code;
#pragma GCC ivdep
        for (int r = 0; r < block_rows; ++r) leaf[r] = static_cast<uint8_t>(2 * leaf[r] + (code[r] > k));
    }
}

ARBORETUM_CLONES inline void add_leaf_values(const uint8_t* leaf, const double* value, int64_t stride,
                                             double* total) {
    if (stride == 1)
        for (int r = 0; r < block_rows; ++r) total[r] += value[leaf[r]];
    else
        for (int r = 0; r < block_rows; ++r) total[r] += value[leaf[r] * stride];
}

// Branch-free binary search in 2ⁿ − 1 sorted thresholds; half = 2ⁿ⁻¹. A missing value compares false: rank 0.
template <class Value, class Index>
[[gnu::always_inline]] inline void rank_values(const Value* x, const Value* table, Index half,
                                               uint8_t* missing_left, uint8_t* missing_right) {
    alignas(64) Index rank[block_rows] = {};
    for (Index step = half; step > 0; step /= 2)
        for (int r = 0; r < block_rows; ++r) rank[r] += table[rank[r] + step - 1] < x[r] ? step : 0;
    for (int r = 0; r < block_rows; ++r) {
        missing_left[r] = static_cast<uint8_t>(rank[r]);
        missing_right[r] = x[r] != x[r] ? missing_right_code : static_cast<uint8_t>(rank[r]);
    }
}

ARBORETUM_CLONES inline void rank_float32(const float* x, const float* table, int32_t half,
                                          uint8_t* missing_left, uint8_t* missing_right) {
    rank_values(x, table, half, missing_left, missing_right);
}

ARBORETUM_CLONES inline void rank_float64(const double* x, const double* table, int64_t half,
                                          uint8_t* missing_left, uint8_t* missing_right) {
    rank_values(x, table, half, missing_left, missing_right);
}

// ----------------------------------------------------------------------------------------------------
// predictor

class Predictor {
  public:
    explicit Predictor(const ForestView& forest) : forest_(forest) {}

    const CompiledForest& forest() const { return forest_; }

    // out (rows × outputs) += trees first … last − 1, one after the other. Columns up to the last feature
    // used. An unknown category under Unknown::average takes both children by their share of rows.
    void add(const RawColumn* columns, int64_t n_rows, int64_t first, int64_t last, Unknown unknown,
             int threads, double* out) const {
        run({columns, n_rows, first, last, unknown}, threads, RawSink{forest_, out});
    }

    // out (rows × trees) = node of the leaf, counted from the start of its tree; the leaf of the largest
    // share (the leftmost of several) where an unknown category is averaged.
    void apply(const RawColumn* columns, int64_t n_rows, int64_t first, int64_t last, Unknown unknown,
               int threads, int32_t* out) const {
        run({columns, n_rows, first, last, unknown}, threads, LeafSink{forest_, out, first, last - first});
    }

  private:
    static constexpr int walkers = 8;
    static constexpr int64_t few_rows = 12;  // below, ranking costs more than it saves
    static constexpr int64_t chunk_rows = 4 * block_rows;
    static constexpr int64_t work_per_thread = 1
                                               << 14;  // visits of a row to a tree that repay waking a thread

    struct Request {
        const RawColumn* columns;
        int64_t n_rows, first, last;
        Unknown unknown;
    };

    struct Scratch {
        std::vector<Lane<uint8_t>> slots, codes;
        std::vector<Lane<int32_t>> categories;
        std::vector<Lane<double>> totals;
        std::vector<double> rows;  // row × used feature
        std::array<bool, block_rows> averaged{};
    };

    struct Visit {
        uint32_t position;
        double share;
    };

    // A sink receives leaves: open a row, take its leaf of each tree in order, close it. r is its place in
    // the block.
    struct RawSink {
        const CompiledForest& forest;
        double* out;

        void open(int64_t row, int r, Scratch& scratch) const {
            for (int64_t k = 0; k < forest.n_outputs; ++k)
                scratch.totals[k].at[r] = out[row * forest.n_outputs + k];
        }
        void take_block(int64_t t, const uint8_t* leaf, int64_t, int, Scratch& scratch) const {
            const PackedTree& tree = forest.trees[t];
            const double* value = &forest.leaf_value[tree.first_leaf * forest.width];
            for (int64_t j = 0; j < forest.width; ++j)
                add_leaf_values(leaf, value + j, forest.width,
                                scratch.totals[std::max(tree.output, 0) + j].at);
        }
        void take(int64_t t, uint32_t leaf, int64_t, int r, Scratch& scratch) const {
            for (int64_t j = 0; j < forest.width; ++j)
                scratch.totals[std::max(forest.trees[t].output, 0) + j].at[r] +=
                    forest.leaf_value[leaf * forest.width + j];
        }
        void take_average(int64_t t, const std::vector<Visit>& leaves, int64_t, int r,
                          Scratch& scratch) const {
            for (int64_t j = 0; j < forest.width; ++j) {
                double mean = 0;
                for (auto [leaf, share] : leaves) mean += share * forest.leaf_value[leaf * forest.width + j];
                scratch.totals[std::max(forest.trees[t].output, 0) + j].at[r] += mean;
            }
        }
        void close(int64_t row, int r, const Scratch& scratch) const {
            for (int64_t k = 0; k < forest.n_outputs; ++k)
                out[row * forest.n_outputs + k] = scratch.totals[k].at[r];
        }
    };

    struct LeafSink {
        const CompiledForest& forest;
        int32_t* out;
        int64_t first, n_trees;

        void open(int64_t, int, Scratch&) const {}
        void take_block(int64_t t, const uint8_t* leaf, int64_t begin, int count, Scratch& scratch) const {
            for (int r = 0; r < count; ++r)
                take(t, forest.trees[t].first_leaf + leaf[r], begin + r, r, scratch);
        }
        void take(int64_t t, uint32_t leaf, int64_t row, int, Scratch&) const {
            out[row * n_trees + t - first] = forest.leaf_node[leaf];
        }
        void take_average(int64_t t, const std::vector<Visit>& leaves, int64_t row, int r,
                          Scratch& scratch) const {
            auto less = [](const Visit& a, const Visit& b) { return a.share < b.share; };
            take(t, std::max_element(leaves.begin(), leaves.end(), less)->position, row, r, scratch);
        }
        void close(int64_t, int, const Scratch&) const {}
    };

    template <class Sink>
    void run(const Request& request, int threads, const Sink& sink) const {
        int64_t work = request.n_rows * (request.last - request.first);
        threads = static_cast<int>(std::clamp<int64_t>(work / work_per_thread, 1, std::max(threads, 1)));
        bool in_blocks = request.n_rows >= few_rows;
        if (!in_blocks) {
            Scratch scratch = make_scratch(false);
            for (int64_t row = 0; row < request.n_rows; ++row) run_row(request, row, scratch, sink);
            return;
        }
        std::vector<Scratch> scratch(threads);
        parallel_blocks(request.n_rows, chunk_rows, threads, [&](int64_t begin, int64_t end, int worker) {
            if (scratch[worker].slots.empty()) scratch[worker] = make_scratch(true);
            for (; begin < end; begin += block_rows)
                run_block(request, begin, static_cast<int>(std::min<int64_t>(block_rows, end - begin)),
                          scratch[worker], sink);
        });
    }

    Scratch make_scratch(bool in_blocks) const {
        Scratch scratch;
        scratch.totals.resize(forest_.n_outputs);
        scratch.rows.resize(std::max<size_t>(forest_.used.size(), 1) *
                            (in_blocks && forest_.has_walks ? block_rows : 1));
        if (!in_blocks) return scratch;
        scratch.slots.resize(byte_leaves + CompiledForest::temporaries);
        for (uint32_t leaf = 0; leaf < byte_leaves; ++leaf)
            std::memset(scratch.slots[leaf].at, leaf, block_rows);
        scratch.codes.resize(forest_.n_code_lanes);
        scratch.categories.resize(forest_.n_category_lanes);
        return scratch;
    }

    // ------------------------------------------------------------------------------------------------- one
    // row

    template <class Sink>
    void run_row(const Request& request, int64_t row, Scratch& scratch, const Sink& sink) const {
        double* values = scratch.rows.data();
        load_row(request, row, values);
        if (is_averaged(request, values)) {
            average_row(request, row, 0, values, scratch, sink);
            return;
        }
        sink.open(row, 0, scratch);
        const double* rows[walkers];
        std::fill_n(rows, walkers, values);
        for (int64_t t = request.first; t < request.last; t += walkers) {
            int64_t end = std::min(request.last, t + walkers);
            uint32_t at[walkers];
            for (int i = 0; i < walkers; ++i) at[i] = forest_.trees[std::min(t + i, end - 1)].root;
            walk(at, rows);
            for (int64_t i = t; i < end; ++i) sink.take(i, forest_.leaf_of[at[i - t]], row, 0, scratch);
        }
        sink.close(row, 0, scratch);
    }

    void load_row(const Request& request, int64_t row, double* values) const {
        for (size_t i = 0; i < forest_.used.size(); ++i) {
            const RawColumn& column = request.columns[forest_.used[i].feature];
            values[i] = column.type == ValueType::category ? column.at<int32_t>(row) : column.number(row);
        }
    }

    // Does the row meet a category that some set of its feature does not cover, and must it be averaged?
    bool is_averaged(const Request& request, const double* values) const {
        if (request.unknown != Unknown::average || forest_.n_category_lanes == 0) return false;
        for (size_t i = 0; i < forest_.used.size(); ++i) {
            const UsedFeature& used = forest_.used[i];
            if (used.is_category && (values[i] < missing_category || values[i] >= used.known_codes))
                return true;
        }
        return false;
    }

    // Moves every walker from its node to its leaf: a leaf sends it back to itself.
    void walk(uint32_t* at, const double* const* rows) const {
        forest_.n_category_lanes > 0 ? walk_nodes<true>(at, rows) : walk_nodes<false>(at, rows);
    }

    template <bool categories>
    void walk_nodes(uint32_t* at, const double* const* rows) const {
        const WalkNode* nodes = forest_.nodes.data();
        auto step = [&] {
            for (int i = 0; i < walkers; ++i) {
                const WalkNode& node = nodes[at[i]];
                double value = rows[i][node.used];
                Side side = categories ? goes(forest_.condition(node), value, Unknown::missing)
                                       : goes_numeric(value, node.threshold, node.missing_left);
                at[i] = node.left + (side == Side::right);
            }
        };
        uint32_t before[walkers];
        do {
            step(), step(), step();
            std::copy_n(at, walkers, before);
            step();
        } while (!std::equal(at, at + walkers, before));
    }

    // The slow way, for rows that take both children somewhere: all leaves reached, from left to right.
    template <class Sink>
    void average_row(const Request& request, int64_t row, int r, const double* values, Scratch& scratch,
                     const Sink& sink) const {
        sink.open(row, r, scratch);
        std::vector<Visit> open, leaves;
        for (int64_t t = request.first; t < request.last; ++t) {
            leaves.clear();
            for (open.assign(1, {forest_.trees[t].root, 1.0}); !open.empty();) {
                auto [position, share] = open.back();
                open.pop_back();
                const WalkNode& node = forest_.nodes[position];
                if (forest_.is_leaf(position)) {
                    leaves.push_back({forest_.leaf_of[position], share});
                    continue;
                }
                Side side = goes(forest_.condition(node), values[node.used], Unknown::average);
                double left = side == Side::both ? forest_.left_share[position] : 1.0;
                double right = side == Side::both ? 1.0 - left : 1.0;
                if (side != Side::left) open.push_back({node.left + 1, share * right});
                if (side != Side::right) open.push_back({node.left, share * left});
            }
            sink.take_average(t, leaves, row, r, scratch);
        }
        sink.close(row, r, scratch);
    }

    // ------------------------------------------------------------------------------------------------ one
    // block

    template <class Sink>
    void run_block(const Request& request, int64_t begin, int count, Scratch& scratch,
                   const Sink& sink) const {
        for (int r = 0; r < count; ++r) sink.open(begin + r, r, scratch);
        load_categories(request, begin, count, scratch);
        size_t width = forest_.used.size();
        if (forest_.has_walks)
            for (int r = 0; r < count; ++r) load_row(request, begin + r, &scratch.rows[r * width]);
        int64_t t = request.first;
        for (const Segment& segment : forest_.segments) {
            int64_t end = std::min(segment.last_tree, request.last);
            if (t >= end) continue;
            load_codes(request, begin, count, segment, scratch);
            for (; t < end; ++t) run_tree(t, begin, count, scratch, sink);
        }
        for (int r = 0; r < count; ++r) {
            if (!scratch.averaged[r]) {
                sink.close(begin + r, r, scratch);
                continue;
            }
            load_row(request, begin + r, scratch.rows.data());
            average_row(request, begin + r, r, scratch.rows.data(), scratch, sink);
        }
    }

    template <class Sink>
    void run_tree(int64_t t, int64_t begin, int count, Scratch& scratch, const Sink& sink) const {
        const PackedTree& tree = forest_.trees[t];
        const Select *start = forest_.program.data() + tree.program_start, *end = start + tree.program_size;
        uint8_t* leaf = scratch.slots[byte_leaves].at;
        const uint32_t* sets = forest_.right_sets.data();
        if (tree.form == PackedTree::walk) {
            walk_block(t, begin, count, scratch, sink);
        } else {
            if (tree.form == PackedTree::levels)
                run_levels(start, end, scratch.codes.data(), scratch.categories.data(), sets, leaf);
            else
                run_selects(start, end, scratch.codes.data(), scratch.categories.data(), sets,
                            scratch.slots.data());
            sink.take_block(t, leaf, begin, count, scratch);
        }
    }

    template <class Sink>
    void walk_block(int64_t t, int64_t begin, int count, Scratch& scratch, const Sink& sink) const {
        for (int r = 0; r < count; r += walkers) {
            int end = std::min(count, r + walkers);
            uint32_t at[walkers];
            const double* rows[walkers];
            std::fill_n(at, walkers, forest_.trees[t].root);
            for (int i = 0; i < walkers; ++i)
                rows[i] = &scratch.rows[std::min(r + i, end - 1) * forest_.used.size()];
            walk(at, rows);
            for (int i = r; i < end; ++i) sink.take(t, forest_.leaf_of[at[i - r]], begin + i, i, scratch);
        }
    }

    template <class Value>
    static void read(const RawColumn& column, int64_t begin, int count, Value* out) {
        for (int r = 0; r < count; ++r) out[r] = column.at<Value>(begin + r);
    }

    void load_categories(const Request& request, int64_t begin, int count, Scratch& scratch) const {
        scratch.averaged.fill(false);
        for (const UsedFeature& used : forest_.used) {
            if (!used.is_category) continue;
            int32_t* lane = scratch.categories[used.category_lane].at;
            read(request.columns[used.feature], begin, count, lane);
            for (int r = 0; r < count; ++r) {
                bool is_missing = lane[r] == missing_category;
                bool is_unknown = !is_missing && (lane[r] < 0 || lane[r] >= used.known_codes);
                scratch.averaged[r] |= is_unknown && request.unknown == Unknown::average;
                if (lane[r] < 0 || lane[r] >= used.n_codes) lane[r] = used.n_codes + !is_missing;
            }
        }
    }

    void load_codes(const Request& request, int64_t begin, int count, const Segment& segment,
                    Scratch& scratch) const {
        Lane<float> narrow{};
        Lane<double> wide{};
        Lane<uint8_t>* codes = scratch.codes.data();
        for (const RankedFeature& ranked : segment.features) {
            const RawColumn& column = request.columns[forest_.used[ranked.used].feature];
            uint8_t *missing_left = codes++->at, *missing_right = codes++->at;
            if (column.type == ValueType::float32) {
                read(column, begin, count, narrow.at);
                rank_float32(narrow.at, &forest_.table32[ranked.table], ranked.half, missing_left,
                             missing_right);
            } else {
                read(column, begin, count, wide.at);
                rank_float64(wide.at, &forest_.table64[ranked.table], ranked.half, missing_left,
                             missing_right);
            }
        }
    }

    CompiledForest forest_;
};

}  // namespace arboretum
