// Prediction of many rows by deep trees, whose nodes do not fit the first caches: tree by tree over a large chunk of
// rows, so that a tree is loaded once per chunk.
//
//   node      4 bytes left child │ 2 bytes place │ 2 bytes code       half of what walking raw values takes
//   row       2 bytes per feature: the rank of the value among all thresholds of its feature in the forest
//             (compile.hpp); twice in chunks with missing values, for conditions that send them left and right
//
// A chunk's rows and a tree together fit the second cache. A tree is asked for in one sweep before its walks, which
// would otherwise wait for one line after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/raw_column.hpp"
#include "forest/compile.hpp"

namespace arboretum {

class DeepForest {
  public:
    static constexpr int64_t most_rows = 8192;  // of a chunk

    // Nothing if some feature has more thresholds than two bytes can tell apart.
    static std::optional<DeepForest> compile(const CompiledForest& forest, int threads);

    // Ranks of a chunk of rows, row by row.
    struct Codes {
        std::vector<uint16_t> ranks;
        int64_t stride;
        bool has_missing;
    };

    // columns: one for each feature that the forest uses.
    Codes rank(const std::vector<const RawColumn*>& columns, int64_t begin, int64_t n) const;

    // Calls take(position of the leaf, row) for rows 0 … n − 1 of the chunk.
    template <class Take>
    void walk(const PackedTree& tree, const Codes& codes, int64_t n, Take&& take) const {
        const uint32_t root = tree.root;
        prefetch(nodes_.data() + root, 2 * tree.n_leaves - 1);
        if (codes.has_missing)
            walk_with(root, codes, n, take, [](const Node& node) { return node.place; });
        else
            walk_with(root, codes, n, take, [](const Node& node) { return node.place >> 1; });
    }

    template <class T>
    static void prefetch(const T* items, size_t n) {
        constexpr size_t line = 64;
        const char* bytes = reinterpret_cast<const char*>(items);
        for (size_t i = 0; i < n * sizeof(T); i += line) __builtin_prefetch(bytes + i, 0, 2);
    }

  private:
    static constexpr uint16_t missing_right = UINT16_MAX, stays = UINT16_MAX;

    struct Node {
        uint32_t left;         // the right child follows it; a leaf names itself, and no code is above its own
        uint16_t place, code;  // place: 2 · used feature + (missing goes right)
    };

    // Between two looks at who has arrived all walkers go some steps, without a branch that could be mispredicted: who
    // has arrived stays.
    template <class Take, class LaneOf>
    void walk_with(uint32_t root, const Codes& codes, int64_t n, Take& take, LaneOf lane_of) const {
        constexpr int walkers = 16, steps = 4;
        const Node* nodes = nodes_.data();
        const uint16_t* ranks = codes.ranks.data();
        uint32_t at[walkers];
        const uint16_t* row[walkers];
        int64_t next = 0;
        int busy = 0;
        for (; busy < walkers && next < n; ++busy, ++next) at[busy] = root, row[busy] = ranks + next * codes.stride;
        while (busy > 0) {
            for (int step = 0; step < steps; ++step)
                for (int i = 0; i < busy; ++i) {
                    const Node node = nodes[at[i]];
                    at[i] = node.left + (row[i][lane_of(node)] > node.code);
                }
            for (int i = 0; i < busy; ++i) {
                if (nodes[at[i]].left != at[i]) continue;
                take(at[i], (row[i] - ranks) / codes.stride);
                if (next < n) {
                    at[i] = root, row[i] = ranks + next++ * codes.stride;
                } else {
                    --busy;
                    at[i] = at[busy], row[i] = row[busy];
                    --i;
                }
            }
        }
    }

    static bool sees_missing(const RawColumn& column, int64_t begin, int64_t n);

    template <class Value>
    void rank_as(const RawColumn& column, const std::vector<Value>& cuts, size_t used, int64_t begin, int64_t n,
                 Codes& codes) const;

    PageVector<Node> nodes_;
    std::vector<std::vector<double>> cuts64_;
    std::vector<std::vector<float>> cuts32_;
};

}  // namespace arboretum
