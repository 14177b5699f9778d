// A frozen forest as prediction and explanations read it; ARCHITECTURE.md describes the arrays.
#pragma once

#include <cstdint>

#include "forest/route.hpp"

namespace arboretum {

// The arrays of model/forest.py, already validated.
struct ForestView {
    int64_t n_trees, n_nodes, n_outputs, width;
    const int64_t* tree_start;
    const int32_t* tree_output;
    const uint8_t* kind;
    const int32_t* feature;
    const double* threshold;
    const int32_t *left, *right;
    const uint8_t* missing_left;
    const int64_t* set_start;
    const uint32_t* set_words;
    const double* value;
    const int64_t* n_rows;
    const double* base;
    const int64_t* projection_start;  // null without oblique conditions, as the three below
    const int32_t* projection_feature;
    const double *projection_weight, *projection_fill;
    const int64_t* slope_start;  // null without linear leaves, as the five below
    const int32_t* slope_feature;
    const double *slope_weight, *slope_centre, *slope_low, *slope_high;

    RawCondition condition(int64_t node) const {
        return {static_cast<ConditionKind>(kind[node]), missing_left[node] != 0, threshold[node],
                set_words + set_start[node], set_start[node + 1] - set_start[node]};
    }
};

}  // namespace arboretum
