// What each training row did to a prediction, backwards through one round of boosting
// (explaining/boosting_influence.py).
//
// For a new row, adjoint[k] tells how much its prediction (or loss) would change with the raw prediction of training
// row k after the round. A leaf is felt by the new row if it is there, and by every training row that it moved:
//
//   felt[leaf]  = seed · [new row in leaf] + Σ adjoint[k] over training rows k in leaf
//   influence[i] += felt[leaf of i] · removal[i]              the leaf's value without row i, less that with it
//   adjoint[k]   −= hessian[k] · felt[leaf of k] · step[leaf] the leaf's value depends on gradients before the round
//
// Trees of a round read the same gradients, so that adjoints change once per round. With softmax, raw predictions of
// all classes make the gradient of each: J = diag(p) − p pᵀ.
#pragma once

#include <cstdint>

namespace arboretum {

struct InfluenceRound {
    int64_t n_rows, n_outputs, n_trees, n_nodes;
    const int32_t* leaf;        // trees × rows
    const int32_t* output;      // of each tree
    const double* removal;      // trees × rows
    const double* step;         // trees × nodes
    const double* hessian;      // outputs × rows; with softmax weight · p
    const double* probability;  // outputs × rows, or null
};

// State of some new rows: seed (new rows × outputs), their leaves (new rows × trees), adjoint (new rows × outputs ×
// rows) and influence (new rows × rows).
struct InfluenceState {
    int64_t n_new;
    const double* seed;
    const int32_t* leaf;
    double* adjoint;
    double* influence;
};

// New rows are independent of one another: the result is the same for any number of threads.
void influence_of_round(const InfluenceRound& round, const InfluenceState& state, int threads);

}  // namespace arboretum
