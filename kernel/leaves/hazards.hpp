// Cumulative hazards of the leaves of a survival tree (Nelson 1969, Aalen 1978): a step d / Y at every time of death.
//
//   leaf 0         leaf 1      …
//   3    7    12   0    7          time       index among the times of death of all rows
//   ⅛    ⅐    ½    ¼    ⅓          step
//   start: where the steps of each node begin
#pragma once

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
    const double* rank;      // rank of the time, from 1 on; negative for a row without event
    const int32_t* time;     // index among times of death
    int64_t n;

    double weight_of(int64_t i) const {
        return (copies != nullptr ? copies[i] : 1.0) * (weight != nullptr ? weight[i] : 1.0);
    }
};

LeafHazards leaf_hazards(const HazardRows& rows, int64_t n_nodes);

}  // namespace arboretum
