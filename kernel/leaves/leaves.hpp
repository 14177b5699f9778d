// Rows grouped by leaf, and weighted quantiles in each group: what losses need that renew their leaf values.
//
//   rows    7 2 9 │ 0 4 │ │ 1 3 5 6 8       row numbers, group after group
//   start   0       3     5 5         10    group i owns rows[start[i] : start[i+1]]
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace arboretum {

struct GroupedRows {
    std::vector<Row> rows;
    std::vector<int64_t> start;
};

// A counting sort. members: rising row numbers, or null for all rows.
GroupedRows group_by_leaf(const uint32_t* leaf_of_row, const Row* members, int64_t n, int64_t n_nodes);

void group_quantiles(const double* values, const double* weight, const Row* rows, const int64_t* start,
                     int64_t n_groups, double q, int threads, double* out);

}  // namespace arboretum
