// A frozen forest as prediction and explanations read it; ARCHITECTURE.md describes the arrays.
#pragma once

#include <cmath>
#include <cstdint>

#include "forest/route.hpp"
#include "forest/slopes.hpp"

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

    ConditionKind kind_of(int64_t node) const { return static_cast<ConditionKind>(kind[node]); }
    bool is_leaf(int64_t node) const { return kind_of(node) == ConditionKind::leaf; }
    bool is_oblique(int64_t node) const { return kind_of(node) == ConditionKind::oblique; }
    bool is_on_categories(int64_t node) const {
        return kind_of(node) == ConditionKind::category || kind_of(node) == ConditionKind::listed;
    }
    bool has_slopes(int64_t node) const { return slope_start != nullptr && slope_start[node] < slope_start[node + 1]; }

    RawCondition condition(int64_t node) const {
        return {kind_of(node), missing_left[node] != 0, threshold[node], set_words + set_start[node],
                set_start[node + 1] - set_start[node]};
    }

    // Share of the training rows at a node that went left. start: first node of its tree.
    double left_share(int64_t node, int64_t start) const {
        const double to_left = static_cast<double>(n_rows[start + left[node]]);
        const double to_right = static_cast<double>(n_rows[start + right[node]]);
        return to_left + to_right > 0 ? to_left / (to_left + to_right) : 0.5;
    }

    // The value of a term of an oblique condition, or what stands for a missing one.
    double filled(int64_t term, double value) const { return std::isnan(value) ? projection_fill[term] : value; }

    // What an oblique condition compares with its threshold. value_of: column → the row's value.
    template <class ValueOf>
    double projected(int64_t node, ValueOf&& value_of) const {
        double sum = 0;
        for (int64_t term = projection_start[node]; term < projection_start[node + 1]; ++term)
            sum += projection_weight[term] * filled(term, value_of(projection_feature[term]));
        return sum;
    }

    SlopeTerm slope(int64_t term) const {
        return {slope_feature[term], slope_weight[term], slope_centre[term], slope_low[term], slope_high[term]};
    }

    // What a leaf says, given its value; a forest with slopes. number_of: column → the row's number.
    template <class NumberOf>
    double linear_leaf(int64_t node, double constant, NumberOf&& number_of) const {
        for (int64_t term = slope_start[node]; term < slope_start[node + 1]; ++term)
            constant += slope(term).at(number_of(slope_feature[term]));
        return constant;
    }
};

}  // namespace arboretum
