// Ends of conformal intervals: order statistics of several lists of scores, each scaled and shifted by predictions.
//
//   scores   e e e e │ e e e │ e e e e      rising within a list; list k owns start[k] : start[k+1]
//   mass     1 2 3 4 │ 1 2 3 │ 1 2 3 4      weight of the scores of the list up to and including this one
//
// The end of a row is the least v with  Σ_k mass of {score of list k : shift_k + scale_k · score ≤ v}  ≥  needed.
#pragma once

#include <cstdint>

namespace arboretum {

struct ScoreLists {
    const double* scores;
    const double* mass;
    const int64_t* start;
    int64_t n_lists;
};

// shift, scale: rows × lists. needed: at most the mass of all scores.
void interval_ends(const double* shift, const double* scale, int64_t n_rows, const ScoreLists& lists, double needed,
                   int threads, double* out);

}  // namespace arboretum
