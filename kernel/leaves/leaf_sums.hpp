// Gradients and hessians of a loss at raw + value of the leaf, summed leaf by leaf: what a Newton step in the leaves
// needs (ensembles/boosting/leaf_steps.py). Nothing is stored per row; each chunk of rows stays in the nearest cache:
//
//   raw + values[leaf] ──► gradients, hessians (vectorised) ──► sums by leaf, as whole numbers (base/whole_sums.hpp)
#pragma once

#include <cstdint>

#include "losses/losses.hpp"

namespace arboretum {

// Gradients and hessians in whole numbers, and what they are multiplied by to become such.
struct WholePair {
    uint64_t gradient = 0, hessian = 0;

    void add(const WholePair& o) { gradient += o.gradient, hessian += o.hessian; }
};

using Units = GradientPair;

struct LeafStep {
    const uint32_t* leaf;  // node of each row
    const double* values;  // of the nodes
    int64_t n_rows, n_nodes;
    Units units;
};

// out: a pair per node. Returns the largest |gradient| and hessian, which tell whether the units were right.
GradientPair sum_gradients_by_leaf(LossKind kind, double parameter, const double* y, const double* raw,
                                   const double* weight, const LeafStep& step, int threads, WholePair* out);

// Of gradients and hessians that are known.
GradientPair sum_known_by_leaf(const double* gradients, const double* hessians, const LeafStep& step, int threads,
                               WholePair* out);

// Multinomial: raw is class-major; only the values of class `output` are under way.
GradientPair sum_softmax_by_leaf(const double* y, const double* raw, const double* weight, int64_t n_classes,
                                 int64_t output, const LeafStep& step, int threads, WholePair* out);

}  // namespace arboretum
