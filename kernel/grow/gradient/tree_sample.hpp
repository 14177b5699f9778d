// Gradients and hessians of the rows that a tree is grown from.
//
//   rows        │ 3 │ 7 │ 8 │ …       rising numbers of the sample's rows; null: all rows of the table
//   gradients   │ g3 │ g7 │ g8 │ …    ┐ in the same order
//   hessians    │ h3 │ h7 │ h8 │ …    ┘
#pragma once

#include <array>
#include <cstdint>

#include "base/buffer.hpp"
#include "base/parallel.hpp"
#include "base/types.hpp"

namespace arboretum {

template <class Real>
struct TreeSample {
    const Real* gradients;
    const Real* hessians;
    const Row* rows;
    int64_t n_rows;

    Row row(int64_t i) const { return rows != nullptr ? rows[i] : static_cast<Row>(i); }
};

// Copies the gradients and hessians of a sample, times the factor of each row; those given are of all rows of the table.
// Both in one pass: it is bound by memory, and half of what it reads are rows and factors. Null: all rows, factor 1.
template <class Real>
TreeSample<Real> gather_sample(const Real* gradients, const Real* hessians, const Row* rows, const double* factor,
                               int64_t n, int threads, std::array<Buffer, 2>& memory) {
    Real *sampled_gradients = memory[0].get<Real>(n), *sampled_hessians = memory[1].get<Real>(n);
    auto gather_by = [&](auto row_at, auto factor_at) {
        parallel_blocks(n, 16384, threads, [=](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i) {
                sampled_gradients[i] = static_cast<Real>(gradients[row_at(i)] * factor_at(i));
                sampled_hessians[i] = static_cast<Real>(hessians[row_at(i)] * factor_at(i));
            }
        });
    };
    auto any_row = [](int64_t i) { return i; };
    auto own_row = [=](int64_t i) { return rows[i]; };
    auto no_factor = [](int64_t) { return 1.0; };
    auto own_factor = [=](int64_t i) { return factor[i]; };
    if (rows == nullptr && factor == nullptr)
        gather_by(any_row, no_factor);
    else if (rows == nullptr)
        gather_by(any_row, own_factor);
    else if (factor == nullptr)
        gather_by(own_row, no_factor);
    else
        gather_by(own_row, own_factor);
    return {sampled_gradients, sampled_hessians, rows, n};
}

}  // namespace arboretum
