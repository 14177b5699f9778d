#include "leaves/leaves.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.hpp"

namespace arboretum {

namespace {

// The smallest value v with Σ weight[value <= v] >= q · Σ weight; 0 for a group without weight.
double weighted_quantile(const double* values, const double* weight, const Row* rows, int64_t n, double q) {
    if (weight == nullptr) {
        if (n == 0) return 0;
        std::vector<double> members(n);
        for (int64_t i = 0; i < n; ++i) members[i] = values[rows[i]];
        auto wanted = std::max<int64_t>(static_cast<int64_t>(std::ceil(q * static_cast<double>(n))) - 1, 0);
        std::nth_element(members.begin(), members.begin() + wanted, members.end());
        return members[wanted];
    }
    std::vector<std::pair<double, double>> members;
    double total = 0;
    for (int64_t i = 0; i < n; ++i)
        if (weight[rows[i]] > 0) members.emplace_back(values[rows[i]], weight[rows[i]]);
    std::sort(members.begin(), members.end());
    for (const auto& [value, w] : members) total += w;
    double running = 0;
    for (const auto& [value, w] : members)
        if ((running += w) >= q * total) return value;
    return members.empty() ? 0 : members.back().first;
}

}  // namespace

GroupedRows group_by_leaf(const uint32_t* leaf_of_row, const Row* members, int64_t n, int64_t n_nodes) {
    GroupedRows grouped{std::vector<Row>(n), std::vector<int64_t>(n_nodes + 1, 0)};
    auto row_at = [&](int64_t i) { return members != nullptr ? members[i] : static_cast<Row>(i); };
    for (int64_t i = 0; i < n; ++i) ++grouped.start[leaf_of_row[row_at(i)] + 1];
    for (int64_t node = 0; node < n_nodes; ++node) grouped.start[node + 1] += grouped.start[node];
    std::vector<int64_t> next(grouped.start.begin(), grouped.start.end() - 1);
    for (int64_t i = 0; i < n; ++i) grouped.rows[next[leaf_of_row[row_at(i)]]++] = row_at(i);
    return grouped;
}

void group_quantiles(const double* values, const double* weight, const Row* rows, const int64_t* start,
                     int64_t n_groups, double q, int threads, double* out) {
    parallel_for(n_groups, threads, [&](int64_t i, int) {
        out[i] = weighted_quantile(values, weight, rows + start[i], start[i + 1] - start[i], q);
    });
}

}  // namespace arboretum
