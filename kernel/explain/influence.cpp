#include "explain/influence.hpp"

#include <algorithm>
#include <vector>

#include "base/parallel.hpp"

namespace arboretum {

namespace {

void feel_leaves(const InfluenceRound& round, const double* seed, const int32_t* leaf_of_new, const double* adjoint,
                 std::vector<double>& felt) {
    felt.assign(round.n_trees * round.n_nodes, 0.0);
    for (int64_t tree = 0; tree < round.n_trees; ++tree) {
        double* sums = felt.data() + tree * round.n_nodes;
        const int32_t* leaf = round.leaf + tree * round.n_rows;
        const double* own = adjoint + round.output[tree] * round.n_rows;
        sums[leaf_of_new[tree]] = seed[round.output[tree]];
        for (int64_t k = 0; k < round.n_rows; ++k) sums[leaf[k]] += own[k];
    }
}

void add_influence(const InfluenceRound& round, const std::vector<double>& felt, double* influence) {
    for (int64_t tree = 0; tree < round.n_trees; ++tree) {
        const double* sums = felt.data() + tree * round.n_nodes;
        const int32_t* leaf = round.leaf + tree * round.n_rows;
        const double* removal = round.removal + tree * round.n_rows;
        for (int64_t i = 0; i < round.n_rows; ++i) influence[i] += sums[leaf[i]] * removal[i];
    }
}

// The rule of most models, one tree per round, in one pass.
void walk_single_tree(const InfluenceRound& round, const std::vector<double>& felt, double* adjoint,
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
void pass_on(const InfluenceRound& round, std::vector<double>& felt, double* adjoint) {
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

}  // namespace

void influence_of_round(const InfluenceRound& round, const InfluenceState& state, int threads) {
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
