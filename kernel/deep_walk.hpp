// Prediction of many rows by deep trees, whose nodes do not fit the first caches: tree by tree over a large chunk of
// rows, so that a tree is loaded once a chunk.
//
//   node      4 bytes left child │ 2 bytes lane │ 2 bytes code      half of what walking raw values takes
//   row       2 bytes a lane: the rank of the value among all thresholds of its feature in the forest (compile.hpp),
//             twice, for conditions that send missing values left and right
//
// Several rows are on their way at a time; one that has reached its leaf makes room for the next.
#pragma once

#include <optional>

#include "compile.hpp"

namespace arboretum {

class DeepForest {
  public:
    static constexpr int64_t chunk_rows = 1024;

    // Nothing if some feature has more thresholds than two bytes can tell apart.
    static std::optional<DeepForest> compile(const CompiledForest& forest) {
        DeepForest deep;
        std::vector<std::vector<double>> thresholds(forest.used.size());
        for (uint32_t i = 0; i < forest.nodes.size(); ++i)
            if (!forest.is_leaf(i)) thresholds[forest.nodes[i].used()].push_back(forest.nodes[i].threshold);
        for (std::vector<double>& list : thresholds) {
            std::sort(list.begin(), list.end());
            list.erase(std::unique(list.begin(), list.end()), list.end());
            if (list.size() >= missing_right) return std::nullopt;
        }
        for (uint32_t i = 0; i < forest.nodes.size(); ++i) {
            const WalkNode& node = forest.nodes[i];
            if (forest.is_leaf(i)) {
                deep.nodes_.push_back({i, 0, stays});
                continue;
            }
            const std::vector<double>& list = thresholds[node.used()];
            const auto code = std::lower_bound(list.begin(), list.end(), node.threshold) - list.begin();
            deep.nodes_.push_back({node.left, static_cast<uint16_t>(node.place), static_cast<uint16_t>(code)});
        }
        for (const std::vector<double>& list : thresholds) {
            deep.cuts64_.push_back(padded_cuts<double>(list));
            deep.cuts32_.push_back(padded_cuts<float>(list));
        }
        return deep;
    }

    int64_t lanes() const { return 2 * static_cast<int64_t>(cuts64_.size()); }

    // codes[row · lanes + 2 · used …] of rows begin … begin + n − 1.
    void rank(const RawColumn& column, size_t used, int64_t begin, int64_t n, uint16_t* codes) const {
        if (column.type == ValueType::float32)
            rank_as<float>(column, cuts32_[used], begin, n, codes + 2 * used);
        else
            rank_as<double>(column, cuts64_[used], begin, n, codes + 2 * used);
    }

    // Calls take(position of the leaf, row) for rows 0 … n − 1 of the chunk. Between two looks at who has arrived all
    // walkers go some steps, without a branch that could be mispredicted: who has arrived stays.
    template <class Take>
    void walk(uint32_t root, const uint16_t* codes, int64_t n, Take&& take) const {
        constexpr int walkers = 16, steps = 4;
        const Node* nodes = nodes_.data();
        const int64_t stride = lanes();
        uint32_t at[walkers];
        const uint16_t* row[walkers];
        int64_t next = 0;
        int busy = 0;
        for (; busy < walkers && next < n; ++busy, ++next) at[busy] = root, row[busy] = codes + next * stride;
        while (busy > 0) {
            for (int step = 0; step < steps; ++step)
                for (int i = 0; i < busy; ++i) {
                    const Node node = nodes[at[i]];
                    at[i] = node.left + (row[i][node.lane] > node.code);
                }
            for (int i = 0; i < busy; ++i) {
                if (nodes[at[i]].left != at[i]) continue;
                take(at[i], (row[i] - codes) / stride);
                if (next < n) {
                    at[i] = root, row[i] = codes + next++ * stride;
                } else {
                    --busy;
                    at[i] = at[busy], row[i] = row[busy];
                    --i;
                }
            }
        }
    }

  private:
    static constexpr uint16_t missing_right = UINT16_MAX, stays = UINT16_MAX;

    struct Node {
        uint32_t left;  // the right child follows it; a leaf names itself, and no code is above its own
        uint16_t lane, code;
    };

    template <class Value>
    void rank_as(const RawColumn& column, const std::vector<Value>& cuts, int64_t begin, int64_t n,
                 uint16_t* codes) const {
        Value values[search_chunk];
        int ranks[search_chunk];
        for (int64_t first = 0; first < n; first += search_chunk) {
            const int count = static_cast<int>(std::min<int64_t>(search_chunk, n - first));
            for (int i = 0; i < count; ++i) values[i] = column.at<Value>(begin + first + i);
            search_cuts(values, count, cuts, ranks);
            for (int i = 0; i < count; ++i) {
                const bool missing = values[i] != values[i];
                uint16_t* code = codes + (first + i) * lanes();
                code[0] = missing ? 0 : static_cast<uint16_t>(ranks[i]);
                code[1] = missing ? missing_right : static_cast<uint16_t>(ranks[i]);
            }
        }
    }

    std::vector<Node> nodes_;
    std::vector<std::vector<double>> cuts64_;
    std::vector<std::vector<float>> cuts32_;
};

}  // namespace arboretum
