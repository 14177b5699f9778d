// Cumulative hazards of the leaves of a survival tree (Nelson 1969, Aalen 1978): a step d / Y at every time of death.
//
//   leaf 0         leaf 1      …
//   3    7    12   0    7          time       index among the times of death of all rows
//   ⅛    ⅐    ½    ¼    ⅓          step
//   start: where the steps of each node begin
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace arboretum {

struct LeafHazards {
    std::vector<int64_t> start;  // nodes + 1
    std::vector<int32_t> time;
    std::vector<double> step;
};

// Rows of one tree, in the order of their times.
struct HazardRows {
    const int32_t* leaf;
    const uint32_t* copies;  // in the tree's bag; or null
    const double* weight;    // or null
    const double* rank;      // rank of the time, from 1 on; of a row without event, less 0
    const int32_t* time;     // index among times of death
    int64_t n;

    double weight_of(int64_t i) const {
        return (copies != nullptr ? copies[i] : 1.0) * (weight != nullptr ? weight[i] : 1.0);
    }
};

inline LeafHazards leaf_hazards(const HazardRows& rows, int64_t n_nodes) {
    std::vector<double> at_risk(n_nodes, 0.0), dying(n_nodes, 0.0);
    struct Step {
        int32_t leaf, time;
        double size;
    };
    std::vector<Step> steps;
    for (int64_t i = 0; i < rows.n; ++i) at_risk[rows.leaf[i]] += rows.weight_of(i);
    for (int64_t begin = 0, end; begin < rows.n; begin = end) {
        for (end = begin; end < rows.n && std::abs(rows.rank[end]) == std::abs(rows.rank[begin]); ++end)
            if (rows.rank[end] > 0) dying[rows.leaf[end]] += rows.weight_of(end);
        for (int64_t i = begin; i < end; ++i) {
            const int32_t leaf = rows.leaf[i];
            if (dying[leaf] > 0) steps.push_back({leaf, rows.time[i], dying[leaf] / at_risk[leaf]});
            dying[leaf] = 0;
        }
        for (int64_t i = begin; i < end; ++i) at_risk[rows.leaf[i]] -= rows.weight_of(i);
    }
    LeafHazards hazards{std::vector<int64_t>(n_nodes + 1, 0), std::vector<int32_t>(steps.size()),
                        std::vector<double>(steps.size())};
    for (const Step& step : steps) ++hazards.start[step.leaf + 1];
    for (int64_t node = 0; node < n_nodes; ++node) hazards.start[node + 1] += hazards.start[node];
    std::vector<int64_t> next(hazards.start.begin(), hazards.start.end() - 1);
    for (const Step& step : steps) {
        const int64_t place = next[step.leaf]++;
        hazards.time[place] = step.time;
        hazards.step[place] = step.size;
    }
    return hazards;
}

}  // namespace arboretum
