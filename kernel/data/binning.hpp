// Values to codes: quantile cuts from a sample, then a branch-free search for every value.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/binned_data.hpp"
#include "data/raw_column.hpp"

namespace arboretum {

// Columns are read together in groups: in a row-major table they share a cache line, fetched some rows ahead.
constexpr int64_t column_group = 16, rows_ahead = 16;

// code = number of cuts below the value.
inline Code code_of(double value, const std::vector<double>& cuts, Code missing_code) {
    if (std::isnan(value)) return missing_code;
    return static_cast<Code>(std::lower_bound(cuts.begin(), cuts.end(), value) - cuts.begin());
}

// Rows whose cuts are taken from: about `size` of them, chosen by a hash of the row number alone, so that the choice
// does not depend on how the rows are partitioned.
std::vector<Row> sample_rows(int64_t n_rows, int64_t size);

// Cuts of every numeric column. weights: of all rows of the table, or null. max_bins <= 0: every distinct value is its
// own bin.
std::vector<std::vector<double>> find_cuts(const std::vector<RawColumn>& columns, const std::vector<Row>& rows,
                                           const double* weights, int64_t max_bins, int threads);

// A column of a compressed matrix: rows that are not listed hold 0.
struct SparseColumn {
    const Row* rows;  // rising
    const double* values;
    int64_t n;
};

// The same cuts as find_cuts on the dense columns.
std::vector<std::vector<double>> find_sparse_cuts(const std::vector<SparseColumn>& columns, int64_t n_rows,
                                                  std::vector<Row> sample, const double* weights, int64_t max_bins,
                                                  int threads);

// Every distinct value of a numeric column its own code.
struct RankedColumn {
    std::vector<double> values;  // rising
    std::vector<Code> codes;     // of each row: place of its value; missing: the code after the last
};

std::vector<RankedColumn> rank_columns(const std::vector<RawColumn>& columns, int64_t n_rows, int threads);

// Writes codes that are known; returns whether some are missing.
bool put_codes(BinnedData& data, int32_t feature, const Code* codes, int threads);

// Assigns codes of `columns` to features first, first + 1, … and reports which columns have missing values. The columns
// hold rows [first_row, first_row + n_rows) of the table.
std::vector<bool> assign_codes(BinnedData& data, int32_t first, const std::vector<RawColumn>& columns,
                               const std::vector<std::vector<double>>& cuts, int64_t first_row, int64_t n_rows,
                               int threads);

// Codes of a compressed matrix: features get the columns in their order. Returns which have missing values.
std::vector<bool> assign_sparse(BinnedData& data, const std::vector<SparseColumn>& columns,
                                const std::vector<std::vector<double>>& cuts, int threads);

}  // namespace arboretum
