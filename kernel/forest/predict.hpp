// Raw predictions and leaves straight from columns of raw values; compile.hpp draws what is run here.
//
//   many rows   blocks of block_rows: rank the values of a segment's features, run its programs, add leaf values;
//               if all trees are deep, large chunks of rows (deep_walk.hpp)
//   few rows    one row at a time, eight trees walked at once
//   rows with unknown categories that are averaged: a chunk of them goes through a tree together
//
// Either way a row's total is base + tree 0 + tree 1 + … in this order: the same bits for any batch and any number of
// threads.
#pragma once

#include <cstdint>
#include <optional>

#include "data/raw_column.hpp"
#include "forest/compile.hpp"
#include "forest/deep_walk.hpp"

namespace arboretum {

class Predictor {
  public:
    // threads: to compile with.
    Predictor(const ForestView& forest, int threads);

    const CompiledForest& forest() const { return forest_; }

    void fill_base(int64_t n_rows, double* out) const;

    // out (rows × outputs) += trees first … last − 1, one after the other. Columns up to the last feature used. An
    // unknown category under Unknown::average takes both children by their share of rows.
    void add(const RawColumn* columns, int64_t n_rows, int64_t first, int64_t last, Unknown unknown, int threads,
             double* out) const;

    // out (rows × trees) = node of the leaf, counted from the start of its tree; the leaf of the largest share (the
    // leftmost of several) where an unknown category is averaged.
    void apply(const RawColumn* columns, int64_t n_rows, int64_t first, int64_t last, Unknown unknown, int threads,
               int32_t* out) const;

  private:
    CompiledForest forest_;
    std::optional<DeepForest> deep_;
};

}  // namespace arboretum
