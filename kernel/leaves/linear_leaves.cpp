#include "leaves/linear_leaves.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/midpoint.hpp"
#include "base/parallel.hpp"
#include "base/per_thread.hpp"
#include "base/simd.hpp"
#include "leaves/leaves.hpp"

namespace arboretum {

namespace {

constexpr int most_slopes = 8;  // of a leaf: the columns split on nearest to it

// What every node may say, so that monotone splits keep their order: the middle between the largest leaf of the low
// side and the least of the high side parts the two.
std::vector<Bounds> node_bounds(std::span<const GrownNode> nodes, const double* values, const LinearRules& rules) {
    std::vector<Bounds> range(nodes.size());  // of the leaves below
    for (size_t id = nodes.size(); id-- > 0 && !rules.monotone.empty();) {
        const GrownNode& node = nodes[id];
        range[id] = node.is_leaf() ? Bounds{values[id], values[id]}
                                   : Bounds{std::min(range[node.left].lower, range[node.right].lower),
                                            std::max(range[node.left].upper, range[node.right].upper)};
    }
    return inherit_bounds(nodes, rules.monotone, rules.bounds, [&](const GrownNode& node, const Bounds&) {
        const bool rises = rules.monotone[node.feature] > 0;
        return midpoint(range[rises ? node.left : node.right].upper, range[rises ? node.right : node.left].lower);
    });
}

// Numeric features on the way from a leaf to the root, at most `most_slopes`, rising.
std::vector<int32_t> path_features(std::span<const GrownNode> nodes, std::span<const int32_t> parents, size_t leaf) {
    std::vector<int32_t> found;
    for (int32_t id = parents[leaf]; id >= 0 && found.size() < most_slopes; id = parents[id]) {
        const GrownNode& node = nodes[id];
        if (node.kind == ConditionKind::numeric && std::find(found.begin(), found.end(), node.feature) == found.end())
            found.push_back(node.feature);
    }
    std::sort(found.begin(), found.end());
    return found;
}

// One number per slope.
using Numbers = std::array<double, most_slopes>;

// Normal equations of at most `most_slopes` columns.
struct NormalEquations {
    int n = 0;
    std::array<Numbers, most_slopes> matrix{};  // of which the lower triangle is read
    Numbers right{};

    // Cholesky's factor, row by row. A column that is left out, or that earlier ones explain, gets 0.
    Numbers solve(const std::array<bool, most_slopes>& left_out) const {
        auto factor = matrix;
        Numbers solution{};
        std::array<bool, most_slopes> absent = left_out;
        for (int i = 0; i < n; ++i) {
            double sum = right[i];
            for (int j = 0; j <= i && !absent[i]; ++j) {
                if (absent[j]) continue;
                double rest = matrix[i][j];
                for (int k = 0; k < j; ++k)
                    if (!absent[k]) rest -= factor[i][k] * factor[j][k];
                if (j < i)
                    factor[i][j] = rest / factor[j][j], sum -= factor[i][j] * solution[j];
                else if (rest > dependent * matrix[i][i])
                    factor[i][i] = std::sqrt(rest), solution[i] = sum / factor[i][i];
                else
                    absent[i] = true;
            }
        }
        for (int i = n; i-- > 0;) {
            if (absent[i]) continue;
            for (int k = i + 1; k < n; ++k)
                if (!absent[k]) solution[i] -= factor[k][i] * solution[k];
            solution[i] /= factor[i][i];
        }
        return solution;
    }

  private:
    static constexpr double dependent = 1e-10;  // share of a column's own square that others leave
};

using Line = double __attribute__((vector_size(sizeof(Numbers))));  // in registers, whatever their width

// Every cell is summed in the order of the rows, all cells of a line at once.
template <int n>
[[gnu::always_inline]] inline void add_rows(NormalEquations& equations, std::span<const Numbers> z,
                                            const double* gradients, const double* hessians) {
    Line right{}, matrix[n]{};
    for (size_t row = 0; row < z.size(); ++row) {
        Line line;
        std::memcpy(&line, z[row].data(), sizeof line);
        right -= gradients[row] * line;
        for (int i = 0; i < n; ++i) matrix[i] += (hessians[row] * line[i]) * line;
    }
    std::memcpy(equations.right.data(), &right, sizeof right);
    std::memcpy(equations.matrix.data(), matrix, sizeof matrix);
}

// Σ h z zᵀ and −Σ g z over rows, of n columns.
ARBORETUM_CLONES NormalEquations sum_rows(int n, std::span<const Numbers> z, const double* gradients,
                                          const double* hessians) {
    NormalEquations sums{n};
    switch (n) {
        case 1: add_rows<1>(sums, z, gradients, hessians); break;
        case 2: add_rows<2>(sums, z, gradients, hessians); break;
        case 3: add_rows<3>(sums, z, gradients, hessians); break;
        case 4: add_rows<4>(sums, z, gradients, hessians); break;
        case 5: add_rows<5>(sums, z, gradients, hessians); break;
        case 6: add_rows<6>(sums, z, gradients, hessians); break;
        default: add_rows<most_slopes>(sums, z, gradients, hessians);
    }
    return sums;
}

// A column inside a leaf, as u = (x − low) / (high − low): sums of it cannot overflow.
struct LeafColumn {
    int32_t feature;
    double low = infinity, high = -infinity;
    double mean = 0;  // of u

    double scale() const { return high - low; }
    bool varies() const { return low < high && scale() < infinity && 1 / scale() < infinity; }
    double unit(double x) const { return (std::clamp(x, low, high) - low) / scale(); }
};

// What one thread keeps of the rows of a leaf.
struct LeafNumbers {
    std::vector<double> gradients, hessians;
    std::vector<double> column;  // numbers of one column
    std::vector<Numbers> z;      // row → deviations from the means of the columns
};

template <class Real>
class LeafFit {
  public:
    LeafFit(const RawColumn* columns, const TableGradients<Real>& of, const LinearRules& rules)
        : columns_(columns), gradients_(of.gradients), hessians_(of.hessians), factor_(of.factor), rules_(rules) {}

    std::vector<SlopeTerm> slopes(const std::vector<int32_t>& features, std::span<const Row> rows, double value,
                                  Bounds bounds, LeafNumbers& leaf) const {
        gather(rows, leaf);
        const std::vector<LeafColumn> columns = varying(features, rows, leaf);
        if (columns.empty()) return {};
        const NormalEquations equations = sum_up(columns.size(), leaf);
        std::array<bool, most_slopes> left_out{};
        Numbers slope = equations.solve(left_out);
        while (leave_out_wrong_signs(columns, slope, left_out)) slope = equations.solve(left_out);
        std::vector<SlopeTerm> terms;
        for (size_t k = 0; k < columns.size(); ++k) {
            const LeafColumn& column = columns[k];
            const double weight = slope[k] / column.scale();
            if (!std::isfinite(weight)) return {};
            const double centre = std::clamp(column.low + column.mean * column.scale(), column.low, column.high);
            if (weight != 0) terms.push_back({column.feature, weight, centre, column.low, column.high});
        }
        return kept_within(bounds, value, std::move(terms));
    }

  private:
    static constexpr double rounding = 1e-13;  // far above that of a leaf's sum

    double times_factor(Real number, Row row) const {
        return factor_ != nullptr ? static_cast<double>(number) * factor_[row] : static_cast<double>(number);
    }

    void gather(std::span<const Row> rows, LeafNumbers& leaf) const {
        leaf.gradients.resize(rows.size());
        leaf.hessians.resize(rows.size());
        leaf.column.resize(rows.size());
        for (size_t i = 0; i < rows.size(); ++i) {
            leaf.gradients[i] = times_factor(gradients_[rows[i]], rows[i]);
            leaf.hessians[i] = times_factor(hessians_[rows[i]], rows[i]);
        }
        leaf.z.assign(rows.size(), {});
    }

    // Columns that vary in the leaf, and the deviations of its rows in them.
    std::vector<LeafColumn> varying(const std::vector<int32_t>& features, std::span<const Row> rows,
                                    LeafNumbers& leaf) const {
        std::vector<LeafColumn> found;
        for (int32_t feature : features) {
            double low = infinity, high = -infinity;
            for (size_t i = 0; i < rows.size(); ++i) {
                const double x = leaf.column[i] = columns_[feature].number(rows[i]);
                low = x < low && x > -infinity ? x : low;
                high = x > high && x < infinity ? x : high;
            }
            LeafColumn column{feature, low, high};
            if (!column.varies()) continue;
            double weight = 0, sum = 0;
            for (size_t i = 0; i < rows.size(); ++i) {
                double& x = leaf.column[i];
                if (std::isnan(x)) continue;
                x = column.unit(x);
                weight += leaf.hessians[i];
                sum += leaf.hessians[i] * x;
            }
            column.mean = sum / weight;
            if (!std::isfinite(column.mean)) continue;
            for (size_t i = 0; i < rows.size(); ++i) {
                const double u = leaf.column[i];
                leaf.z[i][found.size()] = std::isnan(u) ? 0.0 : u - column.mean;
            }
            found.push_back(column);
        }
        return found;
    }

    NormalEquations sum_up(size_t n, const LeafNumbers& leaf) const {
        const double *gradients = leaf.gradients.data(), *hessians = leaf.hessians.data();
        NormalEquations equations = sum_rows(static_cast<int>(n), leaf.z, gradients, hessians);
        double total = 0;
        for (double h : leaf.hessians) total += h;
        for (size_t i = 0; i < n; ++i) equations.matrix[i][i] *= 1 + rules_.l2 / total;
        return equations;
    }

    // Columns whose slope goes against their constraint; true if there are new ones.
    bool leave_out_wrong_signs(const std::vector<LeafColumn>& columns, const Numbers& slope,
                               std::array<bool, most_slopes>& left_out) const {
        if (rules_.monotone.empty()) return false;
        bool found = false;
        for (size_t k = 0; k < columns.size(); ++k)
            if (rules_.monotone[columns[k].feature] * slope[k] < 0) left_out[k] = found = true;
        return found;
    }

    // Shrinks all slopes by one factor, so that the leaf stays within its bounds all over its box.
    static std::vector<SlopeTerm> kept_within(Bounds bounds, double value, std::vector<SlopeTerm> terms) {
        double above = 0, below = 0;
        for (const SlopeTerm& term : terms) {
            const double ends[] = {term.at(term.low), term.at(term.high)};
            above += std::max(ends[0], ends[1]);
            below -= std::min(ends[0], ends[1]);
        }
        const double margin = rounding * (std::abs(value) + above + below);
        const double share =
            std::min({1.0, (bounds.upper - value - margin) / above, (value - bounds.lower - margin) / below});
        if (!(share > 0) || !std::isfinite(above + below)) return {};
        for (SlopeTerm& term : terms) term.weight *= share;
        return terms;
    }

    const RawColumn* columns_;
    const Real *gradients_, *hessians_;
    const double* factor_;
    const LinearRules& rules_;
};

}  // namespace

LeafSlopes LeafSlopes::scaled(double factor) const {
    LeafSlopes result = *this;
    for (SlopeTerm& term : result.terms) {
        term.weight *= factor;
        if (!std::isfinite(term.weight)) throw std::overflow_error("the slope of a leaf is not finite");
    }
    return result;
}

void LeafSlopes::add(const RawColumn* columns, const uint32_t* leaf_of_row, int64_t n_rows, const double* values,
                     int threads, double* raw) const {
    parallel_blocks(n_rows, 4096, threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; ++row) {
            const uint32_t leaf = leaf_of_row[row];
            raw[row] += linear_value(values[leaf], of(leaf),
                                     [&](const SlopeTerm& term) { return columns[term.feature].number(row); });
        }
    });
}

template <class Real>
LeafSlopes fit_slopes(const std::vector<GrownNode>& nodes, const uint32_t* leaf_of_row, const Row* members, int64_t n,
                      const RawColumn* columns, const TableGradients<Real>& of, const double* values,
                      const LinearRules& rules, int threads) {
    const LeafFit<Real> fit(columns, of, rules);
    const GroupedRows grouped = group_by_leaf(leaf_of_row, members, n, static_cast<int64_t>(nodes.size()));
    const std::vector<Bounds> bounds = node_bounds(nodes, values, rules);
    const std::vector<int32_t> parents = parents_of(nodes);
    std::vector<std::vector<SlopeTerm>> found(nodes.size());
    PerThread<LeafNumbers> numbers(std::max(threads, 1));
    parallel_for(static_cast<int64_t>(nodes.size()), threads, [&](int64_t id, int thread) {
        if (!nodes[id].is_leaf() || nodes[id].inherits) return;
        const std::span<const Row> rows(grouped.rows.data() + grouped.start[id],
                                        grouped.rows.data() + grouped.start[id + 1]);
        found[id] = fit.slopes(path_features(nodes, parents, id), rows, values[id], bounds[id], numbers[thread]);
    });
    LeafSlopes slopes{{0}, {}};
    for (const std::vector<SlopeTerm>& terms : found) {
        slopes.terms.insert(slopes.terms.end(), terms.begin(), terms.end());
        slopes.start.push_back(static_cast<int64_t>(slopes.terms.size()));
    }
    return slopes;
}

#define ARBORETUM_INSTANTIATE(Real)                                                                                  \
    template LeafSlopes fit_slopes(const std::vector<GrownNode>&, const uint32_t*, const Row*, int64_t,              \
                                   const RawColumn*, const TableGradients<Real>&, const double*, const LinearRules&, \
                                   int)
ARBORETUM_INSTANTIATE(float);
ARBORETUM_INSTANTIATE(double);
#undef ARBORETUM_INSTANTIATE

}  // namespace arboretum
