// Which rows a tree sees, and what multiplies their gradients: chosen by a hash of (key, row), so that the choice is
// the same for any number of threads.
//
// "The k smallest" are found digit by digit, by counting, in place of a sort:
//
//   ranks     91 23 75 23 58 23 84      k = 2: the first digit is 2; of 23 23 23 the second is 3
//   limit     rank 23, n_equal 2, n_at 3      every rank below is taken, and the first n_equal of those at it
#pragma once

#include <cstdint>
#include <memory>

#include "base/types.hpp"

namespace arboretum {

// An array whose items are written by whoever makes it.
template <class T>
struct Items {
    Items() = default;
    explicit Items(int64_t n) : size(n), data(std::make_unique_for_overwrite<T[]>(static_cast<size_t>(n))) {}

    T& operator[](int64_t i) const { return data[static_cast<size_t>(i)]; }
    T* begin() const { return data.get(); }
    T* end() const { return data.get() + size; }

    int64_t size = 0;
    std::unique_ptr<T[]> data;
};

struct RowSample {
    Items<Row> rows;       // rising
    Items<double> factor;  // of each
};

// Rows whose draw falls below `share`. Never empty: if no draw does, the row with the smallest one.
Items<Row> subsample_rows(int64_t n_rows, double share, uint64_t key, int threads);

// Draws with replacement from `total` rows; those of [first, first + n_rows) are here, and called 0, 1, …. Copies of a
// row are its factor.
RowSample bootstrap_rows(int64_t n_rows, int64_t n_draws, uint64_t key, int threads, int64_t first, int64_t total);

// wanted[s] rows of stratum s, which owns rows[start[s] : start[s+1]], rising.
Items<Row> stratified_rows(const Row* rows, const int64_t* start, const int64_t* wanted, int64_t n_strata, uint64_t key,
                           int threads);

// The n_top rows of largest gradients, equal ones by their draws, and n_other of the rest, which stand for all of it.
template <class Real>
RowSample goss_rows(const Real* gradients, int64_t n_outputs, int64_t n_rows, int64_t n_top, int64_t n_other,
                    uint64_t key, int threads);

// Without any gradient all rows are alike. Never empty: if no draw falls below its probability, the row whose draw is
// nearest to it.
template <class Real>
RowSample mvs_rows(const Real* gradients, const Real* hessians, int64_t n_outputs, int64_t n_rows, double share,
                   uint64_t key, int threads);

// Of rows first, first + 1, ….
void bayesian_factors(int64_t n_rows, double temperature, uint64_t key, int threads, int64_t first, double* factor);

// ---- what chooses among rows that lie in several processes, those here being first, first + 1, … --------------------

void fill_row_draws(int64_t n_rows, uint64_t key, int threads, int64_t first, uint64_t* out);

// top: what goss_rows takes the n_top smallest of; rest: the n_other smallest, among the rows that are left. Ties go to
// the first row.
template <class Real>
void fill_goss_ranks(const Real* gradients, int64_t n_outputs, int64_t n_rows, uint64_t key, int threads, int64_t first,
                     uint64_t* top, uint32_t* rest);

}  // namespace arboretum
