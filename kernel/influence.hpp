// What each training row did to a prediction, backwards through one round of boosting
// (explaining/boosting_influence.py).
//
// For a new row, adjoint[k] tells how much its prediction (or loss) would change with the raw prediction of training
// row k after the round. A leaf is felt by the new row if it is there, and by every training row that it moved:
//
//   felt[leaf]  = seed · [new row in leaf] + Σ adjoint[k] over training rows k in leaf
//   influence[i] += felt[leaf of i] · removal[i]              the leaf's value without row i, less that with it
//   adjoint[k]   −= hessian[k] · felt[leaf of k] · step[leaf] the leaf's value hangs on gradients before the round
//
// Trees of a round read the same gradients, so that adjoints change once a round. With softmax, raw predictions of all
// classes make the gradient of each: J = diag(p) − p pᵀ.
#pragma once

#include <algorithm>
#include <vector>

#include "parallel.hpp"

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

inline void feel_leaves(const InfluenceRound& round, const double* seed, const int32_t* leaf_of_new,
                        const double* adjoint, std::vector<double>& felt) {
    felt.assign(round.n_trees * round.n_nodes, 0.0);
    for (int64_t tree = 0; tree < round.n_trees; ++tree) {
        double* sums = felt.data() + tree * round.n_nodes;
        const int32_t* leaf = round.leaf + tree * round.n_rows;
        const double* own = adjoint + round.output[tree] * round.n_rows;
        sums[leaf_of_new[tree]] = seed[round.output[tree]];
        for (int64_t k = 0; k < round.n_rows; ++k) sums[leaf[k]] += own[k];
    }
}

inline void add_influence(const InfluenceRound& round, const std::vector<double>& felt, double* influence) {
    for (int64_t tree = 0; tree < round.n_trees; ++tree) {
        const double* sums = felt.data() + tree * round.n_nodes;
        const int32_t* leaf = round.leaf + tree * round.n_rows;
        const double* removal = round.removal + tree * round.n_rows;
        for (int64_t i = 0; i < round.n_rows; ++i) influence[i] += sums[leaf[i]] * removal[i];
    }
}

// The rule of most models, one tree a round, in one pass.
inline void walk_single_tree(const InfluenceRound& round, const std::vector<double>& felt, double* adjoint,
                             double* influence) {
    std::vector<double> passed(round.n_nodes);
    for (int64_t node = 0; node < round.n_nodes; ++node) passed[node] = felt[node] * round.step[node];
    for (int64_t k = 0; k < round.n_rows; ++k) {
        const int32_t leaf = round.leaf[k];
        influence[k] += felt[leaf] * round.removal[k];
        adjoint[k] -= round.hessian[k] * passed[leaf];
    }
}

// `felt` is spent: it becomes what each leaf passes on.
inline void pass_on(const InfluenceRound& round, std::vector<double>& felt, double* adjoint) {
    for (int64_t i = 0; i < round.n_trees * round.n_nodes; ++i) felt[i] *= round.step[i];
    std::vector<double> passed(round.n_outputs);
    for (int64_t k = 0; k < round.n_rows; ++k) {
        std::fill(passed.begin(), passed.end(), 0.0);
        for (int64_t tree = 0; tree < round.n_trees; ++tree)
            passed[round.output[tree]] += felt[tree * round.n_nodes + round.leaf[tree * round.n_rows + k]];
        double shared = 0;
        if (round.probability != nullptr)
            for (int64_t c = 0; c < round.n_outputs; ++c) shared += round.probability[c * round.n_rows + k] * passed[c];
        for (int64_t c = 0; c < round.n_outputs; ++c)
            adjoint[c * round.n_rows + k] -= round.hessian[c * round.n_rows + k] * (passed[c] - shared);
    }
}

// New rows are independent of one another: the result is the same for any number of threads.
inline void influence_of_round(const InfluenceRound& round, const InfluenceState& state, int threads) {
    parallel_blocks(state.n_new, 1, threads, [&](int64_t begin, int64_t end, int) {
        std::vector<double> felt;
        for (int64_t j = begin; j < end; ++j) {
            double* adjoint = state.adjoint + j * round.n_outputs * round.n_rows;
            feel_leaves(round, state.seed + j * round.n_outputs, state.leaf + j * round.n_trees, adjoint, felt);
            double* influence = state.influence + j * round.n_rows;
            if (round.n_trees == 1 && round.n_outputs == 1) {
                walk_single_tree(round, felt, adjoint, influence);
            } else {
                add_influence(round, felt, influence);
                pass_on(round, felt, adjoint);
            }
        }
    });
}

}  // namespace arboretum
