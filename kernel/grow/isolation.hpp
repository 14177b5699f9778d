// Isolation trees: random cuts until rows are alone; few cuts isolate what is far from the rest (Liu, Ting & Zhou 2008,
// 2012). With hyperplanes instead of single columns: Hariri, Carrasco Kind & Brunner 2019.
//
//   sample     a few hundred rows of the table, drawn by (seed, tree) from an order of their content
//   values     │ feature 0: v of sample row 0, 1, … │ feature 1: …     NaN is missing; categories by their code
//   places     │ rows of the left branch │ rows of the right one │     places in the sample, partitioned in place
//   features   │ may vary in the node │ known to be constant │          draws shrink the first part on the way down;
//                                                                      a branch leaves the set that it found
//
// Draws are hashes of (seed, tree, path), so that neither threads nor other trees matter.
//
// A leaf at depth d that n rows reach has the value d + c(n); c(n) is the mean depth at which they would be isolated:
//
//   c(n) = 2 H(n − 1) − 2 (n − 1) / n          H(n) = 1 + 1/2 + … + 1/n
//
// the mean depth of the leaves of a random binary search tree. H is summed, not approximated by a logarithm: at n = 3
// the usual approximation is wrong by 28 %.
#pragma once

#include <cstdint>
#include <vector>

#include "data/raw_column.hpp"
#include "grow/grown_tree.hpp"
#include "grow/tree_range.hpp"

namespace arboretum {

// keys[row] = a hash of its content. missing[column] = 1 if a value is missing; others are left as they are.
void content_keys(const std::vector<RawColumn>& columns, const std::vector<std::vector<uint64_t>>& category_keys,
                  int64_t n_rows, int threads, uint64_t* keys, uint8_t* missing);

// Rows by rising key.
std::vector<Row> order_by_key(const uint64_t* keys, int64_t n_rows);

// Rows to draw from, in an order of their content, repeated if weights are whole numbers; else `weight` is not empty.
struct IsolationSample {
    int64_t n_draws = 0;  // 0: all of the pool, no draws
    bool with_replacement = false;
    std::vector<Row> pool;
    std::vector<double> weight;

    std::vector<Row> rows(uint64_t seed, int64_t tree) const;

  private:
    int64_t size() const { return static_cast<int64_t>(pool.size()); }

    void draw_with_replacement(uint64_t key, std::vector<int64_t>& places) const;

    // Floyd's sample (Bentley 1987).
    void draw_distinct(uint64_t key, std::vector<int64_t>& places) const;

    // The rows of the earliest of exponential waiting times with rates `weight` (Efraimidis & Spirakis 2006).
    void draw_distinct_by_weight(uint64_t key, std::vector<int64_t>& places) const;
};

struct IsolationRules {
    int max_depth = 8;
    int32_t max_features = 1;  // of a tree
    int32_t max_terms = 1;     // columns of a hyperplane; 1: cuts are parallel to the axes
};

// What trees are grown from: columns as the user holds them, and keys of categories by code, empty for numbers.
struct IsolationTable {
    std::vector<RawColumn> columns;
    std::vector<std::vector<uint64_t>> category_keys;

    int32_t n_features() const { return static_cast<int32_t>(columns.size()); }
    bool is_category(int32_t feature) const { return columns[feature].type == ValueType::category; }
};

// Trees first … first + n − 1 of the forest with this seed.
GrownForest grow_isolation(const IsolationTable& table, const IsolationSample& sample, const IsolationRules& rules,
                           const TreeRange& range, int threads);

}  // namespace arboretum
