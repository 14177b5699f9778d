// The best threshold of each numeric column for the cases of a node: C4.5 (Quinlan 1993), where a row may have only a
// part of its weight in a node.
//
// With N(w) = Σ w log₂ Σ w of a set of cases, and T the known ones of a column, a threshold between T₁ and T₂ gains
//
//   1/|node| · ( N(T) − Σ_k N(T of class k)  −  Σ_{i = 1, 2} ( N(T_i) − Σ_k N(T_i of class k) ) )
//
// Cases are sorted by the ranks of their values, which are found once. The sums at a case then differ from those at the
// case before in one class only:
//
//   sorted    case 0   case 1   case 2   …
//   below     Σ w up to and with the case              N(below) + N(known − below)   for all cases at once
//   own       the same, of the case's own class        N(own) + N(of class − own)    for all cases at once
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/binning.hpp"

namespace arboretum {

// Rows of a node, each once, and the part of its weight that is here.
struct WeightedCases {
    std::span<const int64_t> rows;
    const double* weight;
    double total;
};

struct ThresholdRules {
    double least, most;  // both sides need a tenth of the known weight per class, within these bounds
    double tie;          // gains that differ by less are equal, and the lowest threshold counts
};

struct BestThreshold {
    double gain;          // −inf if there is no threshold
    double low, high;     // the values that it parts
    double below, known;  // weight at most `low`, and of all cases that are not missing
    double n_tries;       // thresholds that both sides have enough cases for
};

class ThresholdSearch {
  public:
    // classes: of each row, below n_classes.
    ThresholdSearch(const std::vector<RawColumn>& columns, std::span<const int64_t> classes, int64_t n_classes,
                    int threads);

    int64_t n_columns() const { return static_cast<int64_t>(columns_.size()); }

    // out: by column; the same for any number of threads.
    void find(const WeightedCases& cases, const ThresholdRules& rules, int threads, BestThreshold* out) const;

  private:
    struct Scratch;

    BestThreshold find_in(const RankedColumn& column, const WeightedCases& cases, const ThresholdRules& rules,
                          Scratch& scratch) const;

    // Sorted places of the cases that are not missing.
    void sort(const RankedColumn& column, const WeightedCases& cases, Scratch& scratch) const;

    // The weights below each case, and their N; returns N(T) − Σ_k N(T of class k).
    double sum_up(const WeightedCases& cases, Scratch& scratch) const;

    std::vector<RankedColumn> columns_;
    std::vector<int64_t> classes_;
    int64_t n_classes_;
};

}  // namespace arboretum
