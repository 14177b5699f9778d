// Gradients and hessians of a loss at raw + value of the leaf, summed leaf by leaf: what a Newton step in the leaves
// needs (ensembles/boosting/leaf_steps.py). Nothing is stored per row; each chunk of rows stays in the nearest cache:
//
//   raw + values[leaf] ──► gradients, hessians (vectorised) ──► sums by leaf of the block ──► added up block by block
//
// Blocks depend on rows and nodes alone, so the sums are the same bits for any number of threads.
#pragma once

#include <cstdint>

#include "losses/losses.hpp"

namespace arboretum {

struct LeafStep {
    const uint32_t* leaf;  // node of each row
    const double* values;  // of the nodes
    int64_t n_rows, n_nodes;
};

// out: a pair per node.
void sum_gradients_by_leaf(LossKind kind, double parameter, const double* y, const double* raw, const double* weight,
                           const LeafStep& step, int threads, GradientPair* out);

// Multinomial: raw is class-major; only the values of class `output` are under way.
void sum_softmax_by_leaf(const double* y, const double* raw, const double* weight, int64_t n_classes, int64_t output,
                         const LeafStep& step, int threads, GradientPair* out);

}  // namespace arboretum
