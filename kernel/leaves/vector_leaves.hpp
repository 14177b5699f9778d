// Trees whose leaves hold one value per output. Their shape is grown from a sketch of the gradients, a mixture of all
// outputs; here the sums that give each leaf its values are taken for every output.
//
//   gradients   g₀₀ g₀₁ g₀₂ …     outputs × rows: those of one output lie side by side
//               g₁₀ g₁₁ g₁₂ …
//   sketch      Σ_k mix_k · g_k    one number per row
//
// Work is divided by output and by blocks of rows; sums are those of whole numbers (base/whole_sums.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "grow/grown_tree.hpp"
#include "leaves/leaf_sums.hpp"
#include "losses/losses.hpp"

namespace arboretum {

template <class Real>
struct OutputGradients {
    const Real* gradients;
    const Real* hessians;
    int64_t n_outputs, n_rows;
};

// Rows that a tree was grown from, rising, or null for all, and what multiplies their gradients, or null for 1.
struct SampledRows {
    const Row* rows;
    const double* factor;
    int64_t n;

    Row row(int64_t i) const { return rows != nullptr ? rows[i] : static_cast<Row>(i); }
    double times(int64_t i) const { return factor != nullptr ? factor[i] : 1.0; }
};

// Gradients of a loss of one output for each of several; a missing target has none.
template <class Real>
void compute_output_gradients(LossKind kind, double parameter, const double* y, const double* raw, const double* weight,
                              int64_t n_outputs, int64_t n_rows, Real* gradients, Real* hessians, int threads);

// gradients[row] = Σ_k mix[k] · g_k[row] and hessians[row] = Σ_k share[k] · h_k[row], in the order of the outputs.
template <class Real>
void sketch_outputs(const OutputGradients<Real>& of, const double* mix, const double* share, int threads,
                    Real* gradients, Real* hessians);

// out: nodes × outputs. Sums of the sample's rows in every node, inner ones included, in units of each output.
// largest: of each output, which tell whether the units were right.
template <class Real>
void sum_outputs_by_node(const std::vector<GrownNode>& nodes, const uint32_t* leaf, const SampledRows& sample,
                         const OutputGradients<Real>& of, const Units* units, int threads, GradientPair* largest,
                         WholePair* out);

// raw[k][row] += values[k][leaf of row]; values: outputs × nodes.
void add_output_values(const uint32_t* leaf, const double* values, int64_t n_nodes, int64_t n_outputs, int64_t n_rows,
                       int threads, double* raw);

}  // namespace arboretum
