// Predictions of a forest for every row, with some columns replaced by every point of a grid:
//
//   each(row, point) = Σ_trees f(columns of the row, but `replaced` columns of the point)
//   mean(point)      = Σ_rows weight · each(row, point)
//
// Rows and points are routed together as two lists. A condition on a replaced column divides the points and hands all
// rows to both children; any other divides the rows and hands on all points. A leaf then belongs to all pairs of its
// two lists. A tree costs rows + points per level, not rows × points:
//
//                 x ≤ 3        rows {0 1 2 3}   points {a b c d}
//               ┌───┴───┐
//            p ≤ 7      leaf   {0 2}  {a b c d}     and     {1 3}  {a b c d}
//          ┌───┴───┐
//        leaf     leaf         {0 2}  {a b}         and     {0 2}  {c d}
//
// Oblique conditions may not read replaced columns: they would divide pairs.
#pragma once

#include <cstdint>

#include "data/raw_column.hpp"
#include "forest/forest.hpp"

namespace arboretum {

// points: columns of the grid for those that are replaced, null data for all others.
struct PairTables {
    ForestView forest;
    const RawColumn *rows, *points;
    int64_t n_rows, n_points;
    Unknown unknown;
};

// out (outputs × points) += Σ_rows weight · trees. Trees are summed in fixed groups, rows in fixed blocks.
void add_mean_dependence(const PairTables& tables, const double* weight, int threads, double* out);

// out (rows × outputs × points) += trees.
void add_each_dependence(const PairTables& tables, int threads, double* out);

}  // namespace arboretum
