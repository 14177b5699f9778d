#include "leaves/hazards.hpp"

#include <cmath>

namespace arboretum {

LeafHazards leaf_hazards(const HazardRows& rows, int64_t n_nodes) {
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
