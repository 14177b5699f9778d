#include "explain/path_contributions.hpp"

#include <cmath>
#include <vector>

#include "base/parallel.hpp"

namespace arboretum {

namespace {

class PathContributions {
  public:
    explicit PathContributions(const ForestView& forest) : forest_(forest), expected_(forest.n_nodes) {
        for (int64_t tree = 0; tree < forest.n_trees; ++tree) {
            const int64_t start = forest.tree_start[tree];
            for (int64_t node = forest.tree_start[tree + 1]; node-- > start;) {  // children come after their parent
                if (forest_.is_leaf(node)) {
                    expected_[node] = forest.value[node];
                    continue;
                }
                const double share = forest_.left_share(node, start);
                expected_[node] =
                    share * expected_[start + forest.left[node]] + (1 - share) * expected_[start + forest.right[node]];
            }
        }
    }

    // Σ_trees E(root).
    double expected() const {
        double sum = 0;
        for (int64_t tree = 0; tree < forest_.n_trees; ++tree) sum += expected_[forest_.tree_start[tree]];
        return sum;
    }

    void add(const RawColumn* columns, int64_t n_rows, int64_t n_features, Unknown unknown, int threads,
             double* out) const {
        constexpr int64_t block = 64;
        parallel_blocks(n_rows, block, threads, [&](int64_t begin, int64_t end, int) {
            std::vector<double> shares;
            for (int64_t tree = 0; tree < forest_.n_trees; ++tree)
                for (int64_t row = begin; row < end; ++row)
                    walk({columns, row, unknown, out + row * n_features, shares}, forest_.tree_start[tree],
                         forest_.tree_start[tree], 1.0);
        });
    }

  private:
    struct Walk {
        const RawColumn* columns;
        int64_t row;
        Unknown unknown;
        double* out;
        std::vector<double>& shares;
    };

    void walk(const Walk& walk, int64_t start, int64_t node, double weight) const {
        while (!forest_.is_leaf(node)) {
            const Side side = take_side(walk, node);
            const int64_t left = start + forest_.left[node], right = start + forest_.right[node];
            if (side == Side::both) {
                const double share = forest_.left_share(node, start);
                credit(walk, node, left, weight * share);
                credit(walk, node, right, weight * (1 - share));
                this->walk(walk, start, left, weight * share);
                weight *= 1 - share;
                node = right;
                continue;
            }
            const int64_t child = side == Side::left ? left : right;
            credit(walk, node, child, weight);
            node = child;
        }
    }

    static double number(const Walk& walk, int32_t feature) {
        const RawColumn& column = walk.columns[feature];
        return column.type == ValueType::category ? column.at<int32_t>(walk.row) : column.number(walk.row);
    }

    Side take_side(const Walk& walk, int64_t node) const {
        if (!forest_.is_oblique(node))
            return goes(forest_.condition(node), number(walk, forest_.feature[node]), walk.unknown);
        return side(forest_.projected(node, [&](int32_t feature) { return number(walk, feature); }) <=
                    forest_.threshold[node]);
    }

    void credit(const Walk& walk, int64_t node, int64_t child, double weight) const {
        const double change = weight * (expected_[child] - expected_[node]);
        if (!forest_.is_oblique(node)) {
            walk.out[forest_.feature[node]] += change;
            return;
        }
        const int64_t first = forest_.projection_start[node], n = forest_.projection_start[node + 1] - first;
        double sum = 0;
        walk.shares.resize(n);
        for (int64_t i = 0; i < n; ++i) {
            const double value = number(walk, forest_.projection_feature[first + i]);
            const double away = forest_.filled(first + i, value) - forest_.projection_fill[first + i];
            sum += walk.shares[i] = std::abs(forest_.projection_weight[first + i] * away);
        }
        if (!(sum < infinity)) sum = keep_infinite(walk.shares);
        for (int64_t i = 0; i < n; ++i) {
            const double share = sum > 0 ? walk.shares[i] / sum : 1 / static_cast<double>(n);
            walk.out[forest_.projection_feature[first + i]] += change * share;
        }
    }

    // Infinite terms share equally, the others get nothing. Returns 0 if only the sum of the terms is infinite: then
    // all terms share equally.
    static double keep_infinite(std::vector<double>& shares) {
        double sum = 0;
        for (double& share : shares) sum += share = share < infinity ? 0.0 : 1.0;
        return sum;
    }

    ForestView forest_;
    std::vector<double> expected_;
};

}  // namespace

double add_path_contributions(const ForestView& forest, const RawColumn* columns, int64_t n_rows, int64_t n_features,
                              Unknown unknown, int threads, double* out) {
    const PathContributions contributions(forest);
    contributions.add(columns, n_rows, n_features, unknown, threads, out);
    return contributions.expected();
}

}  // namespace arboretum
