// Oblique splits: the sum of a few scaled numbers of a row against a threshold (sparse projections: Tomita et al. 2020,
// "Sparse projection oblique randomer forests"; sums of random inputs: Breiman 2001, §5).
//
//   z(row) = Σ ± value / scale       over the features of a projection, rising;   z ≤ threshold goes left
//
// A node draws its projections from its path, by number: only the number is kept until one of them wins.
//
//   values   │ row 0: v₀ v₁ … │ row 1: v₀ v₁ … │      numeric features that vary, 8 bytes each; missing ones are filled
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "base/types.hpp"
#include "forest/route.hpp"
#include "grow/row_numbers.hpp"

namespace arboretum {

// The numbers of a table, and how a node makes projections of them. Terms name a feature by its place in `values`.
class Projections {
  public:
    using Term = ProjectionTerm;

    Projections() = default;  // none

    // features: numbers of the columns of values in the binned table.
    Projections(const double* values, std::vector<int32_t> features, std::vector<double> scale,
                std::vector<double> fill, int n_projections, double density)
        : values_(values), features_(std::move(features)), scale_(std::move(scale)), fill_(std::move(fill)) {
        if (n_features() < least_terms) return;
        n_projections_ = n_projections;
        count_sizes(density);
    }

    int n_projections() const { return n_projections_; }
    int n_features() const { return static_cast<int>(features_.size()); }
    const double* row(Row row) const { return values_ + static_cast<int64_t>(row) * n_features(); }

    static double value(std::span<const Term> terms, const double* row) {
        return project(terms, [row](const Term& term) { return row[term.feature]; });
    }

    // Every feature takes part with probability `density`, given that at least two do: their number first, then which
    // of them (Floyd's sample without replacement, Bentley 1987), each with a sign. z and −z cut alike, so the first
    // sign is +.
    void draw_terms(uint64_t path, int number, std::vector<Term>& terms) const;

    static uint64_t cut_bits(uint64_t path, int number) { return draw(draw_key(path, number), ~uint64_t{0}); }

    int32_t binned_feature(const Term& term) const { return features_[term.feature]; }

  private:
    static constexpr int least_terms = 2;

    static uint64_t draw_key(uint64_t path, int number) { return draw(path, 0x70726f6a, number); }  // "proj"

    // cumulative_[i]: weight of sizes 2 … 2 + i, binomial up to a factor, by ratios of neighbours from the mode on.
    void count_sizes(double density);

    const double* values_ = nullptr;
    std::vector<int32_t> features_;
    std::vector<double> scale_, fill_;
    int n_projections_ = 0;
    std::vector<double> cumulative_;
};

// The sums of one projection over the rows of a node.
class ProjectedRows {
  public:
    using ProjectedRow = std::pair<double, uint32_t>;  // z, place in the node

    void fill(const Projections& projections, std::span<const ProjectionTerm> terms, const RowNumbers& rows);
    void sort();
    // Moves rows with z ≤ t to the front; returns their number.
    int64_t part(double t);

    const std::vector<ProjectedRow>& rows() const { return rows_; }
    double low() const { return low_; }
    double high() const { return high_; }

  private:
    std::vector<ProjectedRow> rows_, sorted_;
    double low_ = 0, high_ = 0;  // least and largest sum
    std::vector<uint32_t> starts_;
};

}  // namespace arboretum
