// Shapley values of many rows: chunks of rows in parallel, tree by tree, so that the tables of a tree are filled once a
// chunk. What a row gets does not depend on chunks: rows side by side never touch each other.
#pragma once

#include <cstdint>

#include "data/raw_column.hpp"
#include "forest/forest.hpp"

namespace arboretum {

struct ShapTable {
    const RawColumn* columns;
    int64_t n_rows;
};

// Adds what a forest predicts if no column is known, by training rows; out: outputs.
void add_expected(const ForestView& forest, double* out);

// out: rows × columns (× columns) × outputs, which holds zeros. Without rows in the background: by training rows.
void explain_forest(const ForestView& forest, int64_t n_columns, const ShapTable& table, const ShapTable& background,
                    Unknown unknown, bool interactions, int threads, double* out);

}  // namespace arboretum
