// Linear models in the leaves of a grown tree (Shi, Li & Li 2019, "Gradient boosting with piece-wise linear regression
// trees"; de Vito 2017, "LinXGBoost").
//
//   leaf(x) = v + Σ sₖ zₖ        zₖ = xₖ − cₖ over numeric columns of the path; cₖ = Σ h xₖ / Σ h, so that Σ h zₖ = 0
//
// The second-order objective Σ g f + ½ h f² then splits in two: v is the value of the constant leaf, and the slopes solve
//
//   (A + λ/H · diag A) s = −b        A = Σ h z zᵀ,  b = Σ g z,  H = Σ h
//
// where λ penalises a slope, in units of its column's deviation, as l2 penalises a value. A missing value
// counts as the mean of its column (z = 0), one beyond the range of the leaf's finite values as the end of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/raw_column.hpp"
#include "forest/slopes.hpp"
#include "grow/grown_tree.hpp"

namespace arboretum {

struct LinearRules {
    double l2 = 0;
    Bounds bounds;                 // of the predictions of a leaf
    std::vector<int8_t> monotone;  // per feature; empty: none
};

// Terms of node i: terms[start[i] : start[i + 1]]; they name binned features.
struct LeafSlopes {
    std::vector<int64_t> start;
    std::vector<SlopeTerm> terms;

    std::span<const SlopeTerm> of(size_t node) const {
        return std::span(terms).subspan(start[node], start[node + 1] - start[node]);
    }

    // All finite.
    LeafSlopes scaled(double factor) const;

    // raw[row] += the prediction of the row's leaf. columns: by binned feature.
    void add(const RawColumn* columns, const uint32_t* leaf_of_row, int64_t n_rows, const double* values, int threads,
             double* raw) const;
};

// Gradients of all rows of the table; factor: what multiplies those of each row, or null for 1.
template <class Real>
struct TableGradients {
    const Real *gradients, *hessians;
    const double* factor;
};

// Slopes of all leaves; one task per leaf, its rows rising, so that sums do not depend on the number of threads.
// values: of the nodes, before any learning rate. members: rising rows of the sample, or null for all.
template <class Real>
LeafSlopes fit_slopes(const std::vector<GrownNode>& nodes, const uint32_t* leaf_of_row, const Row* members, int64_t n,
                      const RawColumn* columns, const TableGradients<Real>& of, const double* values,
                      const LinearRules& rules, int threads);

}  // namespace arboretum
