#include "explain/shap_forest.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "explain/shap.hpp"
#include "explain/shap_background.hpp"
#include "explain/shap_dividends.hpp"
#include "explain/shap_oblique.hpp"

namespace arboretum {

namespace {

class ShapForest {
  public:
    ShapForest(const ForestView& forest, int64_t n_columns, int threads) : forest_(forest), place_of_(n_columns, -1) {
        find_features();
        trees_.resize(forest.n_trees);
        parallel_for(forest.n_trees, threads, [&](int64_t t, int) { trees_[t] = ShapTree(forest_, t, place_of_); });
        int most = 1;
        for (const ShapTree& tree : trees_) most = std::max(most, n_points(tree));
        for (int n = 1; n <= most; ++n) points_.push_back(gauss_legendre(n));
    }

    void explain(const ShapTable& table, const ShapTable& background, Unknown unknown, bool interactions, int threads,
                 double* out) const {
        const Chunks chunks = cut(table.n_rows, interactions, threads);
        if (has_oblique()) check_oblique(background.n_rows > 0, threads);
        const Backgrounds backgrounds = read_background(background, unknown);
        parallel_blocks(table.n_rows, chunks.rows, threads, [&](int64_t begin, int64_t end, int) {
            const int64_t n_blocks = (end - begin + shap_rows - 1) / shap_rows;
            std::vector<ShapLane> values(n_blocks * features_.size()), cells(n_blocks * chunks.cells);
            std::vector<ShapRows> blocks;
            for (int64_t b = 0; b < n_blocks; ++b) {
                ShapLane* x = values.data() + b * features_.size();
                read_rows(table, begin + b * shap_rows, end, x);
                blocks.push_back({x, unknown == Unknown::average && takes_shares(x), cells.data() + b * chunks.cells});
            }
            if (features_.size() <= FewColumns().size())
                add_trees<FewColumns>(blocks, backgrounds, unknown, interactions);
            else
                add_trees<ManyColumns>(blocks, backgrounds, unknown, interactions);
            const double scale = 1 / static_cast<double>(std::max<int64_t>(background.n_rows, 1));
            for (int64_t row = begin; row < end; ++row) {
                const ShapRows& block = blocks[(row - begin) / shap_rows];
                write(block.out, (row - begin) % shap_rows, scale, interactions, row, out);
            }
        });
    }

  private:
    struct Backgrounds {
        std::vector<double> values;  // row × feature
        int64_t n_rows;              // 0: training rows
        bool takes_sides;            // one of each condition
    };

    void find_features() {
        auto use = [&](int32_t feature) {
            if (place_of_[feature] >= 0) return;
            place_of_[feature] = static_cast<int32_t>(features_.size());
            features_.push_back(feature);
            known_codes_.push_back(infinity);
            on_categories_.push_back(false);
        };
        for (int64_t node = 0; node < forest_.n_nodes; ++node) {
            if (forest_.is_leaf(node)) continue;
            use(forest_.feature[node]);
            const ConditionKind kind = static_cast<ConditionKind>(forest_.kind[node]);
            if (kind == ConditionKind::category || kind == ConditionKind::listed)
                on_categories_[place_of_[forest_.feature[node]]] = true;
            if (kind != ConditionKind::category) continue;
            double& known = known_codes_[place_of_[forest_.feature[node]]];
            known = std::min(known, 32.0 * static_cast<double>(forest_.condition(node).set_words));
        }
        if (forest_.projection_start != nullptr)
            for (int64_t i = 0; i < forest_.projection_start[forest_.n_nodes]; ++i) use(forest_.projection_feature[i]);
        if (forest_.slope_start != nullptr)
            for (int64_t i = 0; i < forest_.slope_start[forest_.n_nodes]; ++i) use(forest_.slope_feature[i]);
    }

    // A term of a linear leaf may be of a column that is not on the path.
    int n_points(const ShapTree& tree) const {
        return std::max(1, (tree.most_features + (forest_.slope_start != nullptr) + 1) / 2);
    }

    // ---------------------------------------------------------------------------------------------------------- rows

    struct Chunks {
        int64_t rows, cells;  // cells: lanes of a block
    };

    Chunks cut(int64_t n_rows, bool interactions, int threads) const {
        constexpr int64_t most_rows = 256, most_lanes = 1 << 16;  // 8 MB
        const int64_t used = static_cast<int64_t>(features_.size());
        const int64_t cells = used * (interactions ? used : 1) * forest_.n_outputs;
        const int64_t fair = n_rows / std::max(threads, 1) + 1,
                      fit = shap_rows * (most_lanes / std::max<int64_t>(cells, 1));
        const int64_t rows = std::min({most_rows, fair, fit});
        return {std::max<int64_t>(1, (rows + shap_rows - 1) / shap_rows) * shap_rows, cells};
    }

    static double value(const RawColumn& column, int64_t row) {
        return column.type == ValueType::category ? column.at<int32_t>(row) : column.number(row);
    }

    void read_rows(const ShapTable& table, int64_t begin, int64_t end, ShapLane* values) const {
        for (size_t i = 0; i < features_.size(); ++i)
            for (int r = 0; r < shap_rows; ++r)  // the last row stands for those that are not there
                values[i].at[r] = value(table.columns[features_[i]], std::min(begin + r, end - 1));
    }

    bool takes_shares(const ShapLane* values) const {
        for (size_t i = 0; i < features_.size(); ++i)
            for (double value : values[i].at)
                if (is_unknown(i, value)) return true;
        return false;
    }

    bool is_unknown(size_t i, double value) const {
        return on_categories_[i] && (value < missing_category || value >= known_codes_[i]);
    }

    Backgrounds read_background(const ShapTable& table, Unknown unknown) const {
        Backgrounds found{{}, table.n_rows, table.n_rows > 0};
        for (int64_t row = 0; row < table.n_rows; ++row)
            for (size_t i = 0; i < features_.size(); ++i) {
                found.values.push_back(value(table.columns[features_[i]], row));
                found.takes_sides &= unknown == Unknown::missing || !is_unknown(i, found.values.back());
            }
        return found;
    }

    // --------------------------------------------------------------------------------------------------------- trees

    using FewColumns = std::bitset<64>;
    using ManyColumns = std::bitset<1024>;

    bool has_oblique() const {
        return std::any_of(trees_.begin(), trees_.end(), [](const ShapTree& tree) { return tree.is_oblique; });
    }

    void check_oblique(bool has_background, int threads) const {
        if (features_.size() > ManyColumns().size())
            throw std::domain_error("oblique trees that read " + std::to_string(features_.size()) +
                                    " columns: SHAP values take up to 1024");
        if (has_background) return;
        if (features_.size() <= FewColumns().size())
            check_unions<FewColumns>(threads);
        else
            check_unions<ManyColumns>(threads);
    }

    template <class Columns>
    void check_unions(int threads) const {
        constexpr size_t most = 4096;
        using Dividends = DividendShap<Columns>;
        if (Dividends::always_fits(features_.size(), forest_.width)) return;
        parallel_for(forest_.n_trees, threads, [&](int64_t t, int) {
            const ShapTree& tree = trees_[t];
            if (!tree.is_oblique || Dividends(forest_, place_of_, {}, Unknown::average).plan(tree)) return;
            if (ObliqueShap<Columns>::most_unions(forest_, place_of_, tree, most) > most)
                throw std::domain_error(
                    "oblique conditions make more than 4096 sets of columns on a path of a tree: give background=, a "
                    "hundred rows, or fit trees of a smaller max_depth");
        });
    }

    template <class Columns>
    void add_trees(const std::vector<ShapRows>& blocks, const Backgrounds& backgrounds, Unknown unknown,
                   bool interactions) const {
        const ShapShape shape{static_cast<int64_t>(features_.size()), forest_.n_outputs, interactions};
        ShapWalk walk(forest_, place_of_, shape, unknown);
        ObliqueShap<Columns> oblique(forest_, place_of_, shape, unknown);
        DividendShap<Columns> dividends(forest_, place_of_, shape, unknown);
        BackgroundShap by_bits(forest_, shape, unknown);
        ShapTables tables;
        std::vector<ShapRows> sided, others;  // blocks whose rows take one side of each condition
        for (const ShapRows& block : blocks)
            (backgrounds.takes_sides && !block.takes_shares ? sided : others).push_back(block);
        for (int64_t t = 0; t < forest_.n_trees; ++t) {
            const ShapTree& tree = trees_[t];
            if (tree.is_oblique && backgrounds.n_rows == 0 && dividends.plan(tree)) {
                for (const ShapRows& block : blocks) dividends.add(t, block);
                continue;
            }
            const Quadrature& points = points_[n_points(tree) - 1];
            const bool has_bits = !interactions && goes_by_bits(tree) && !sided.empty();
            if (has_bits) by_bits.add(t, tree, backgrounds.values.data(), backgrounds.n_rows, sided);
            const std::vector<ShapRows>& rest = has_bits ? others : blocks;
            for (int64_t b = 0; !rest.empty() && b < std::max<int64_t>(backgrounds.n_rows, 1); ++b) {
                const double* background =
                    backgrounds.n_rows > 0 ? backgrounds.values.data() + b * features_.size() : nullptr;
                fill_shares(tree, background, unknown, tables.share);
                if (!tree.is_oblique) tables.fill(tree, points);
                for (const ShapRows& block : rest)
                    if (tree.is_oblique)
                        oblique.add(t, tree, tables.share, background, block);
                    else
                        walk.add(t, tree, points, tables, background, block);
            }
        }
    }

    bool goes_by_bits(const ShapTree& tree) const {
        return !tree.is_oblique && forest_.slope_start == nullptr && tree.most_features <= CoalitionWeights::most;
    }

    void fill_shares(const ShapTree& tree, const double* background, Unknown unknown,
                     std::vector<double>& share) const {
        share.resize(tree.edges.size());
        auto value_of = [&](int32_t place) { return background[place]; };
        for (size_t e = 0; e < tree.edges.size(); ++e) {
            const ShapEdge& edge = tree.edges[e];
            const double left = background == nullptr
                                    ? forest_.left_share(edge.parent, tree.start)
                                    : goes_left(forest_, place_of_, edge.parent, tree.start, unknown, value_of);
            share[e] = edge.left ? left : 1 - left;
        }
    }

    void write(const ShapLane* cells, int64_t lane, double scale, bool interactions, int64_t row, double* out) const {
        const int64_t n_columns = static_cast<int64_t>(place_of_.size()), n = forest_.n_outputs;
        const int64_t used = static_cast<int64_t>(features_.size());
        if (!interactions) {
            for (int64_t i = 0; i < used; ++i)
                for (int64_t j = 0; j < n; ++j)
                    out[(row * n_columns + features_[i]) * n + j] = scale * cells[i * n + j].at[lane];
            return;
        }
        double* own = out + row * n_columns * n_columns * n;
        auto at = [&](int64_t a, int64_t b) { return own + (features_[a] * n_columns + features_[b]) * n; };
        for (int64_t a = 0; a < used; ++a)
            for (int64_t j = 0; j < n; ++j) at(a, a)[j] = scale * cells[(a * used + a) * n + j].at[lane];
        for (int64_t a = 0; a < used; ++a)
            for (int64_t b = a + 1; b < used; ++b)
                for (int64_t j = 0; j < n; ++j) {
                    const double both = scale * cells[(a * used + b) * n + j].at[lane];
                    at(a, b)[j] = at(b, a)[j] = both;
                    at(a, a)[j] -= both;
                    at(b, b)[j] -= both;
                }
    }

    const ForestView forest_;
    std::vector<int32_t> place_of_;  // column → place among those that the forest reads, −1 if it does not
    std::vector<int32_t> features_;  // and back
    std::vector<uint8_t> on_categories_;
    std::vector<double> known_codes_;  // of the smallest set of a feature
    std::vector<ShapTree> trees_;
    std::vector<Quadrature> points_;
};

}  // namespace

void add_expected(const ForestView& forest, double* out) {
    for (int64_t t = 0; t < forest.n_trees; ++t) {
        const int64_t start = forest.tree_start[t], end = forest.tree_start[t + 1];
        double* outputs = out + std::max(forest.tree_output[t], 0);
        std::vector<double> share(end - start);
        share[0] = 1;
        for (int64_t node = start; node < end; ++node) {  // children come after their parent
            const double here = share[node - start];
            if (forest.is_leaf(node)) {
                for (int64_t j = 0; j < forest.width; ++j) outputs[j] += here * forest.value[node * forest.width + j];
                continue;
            }
            const double left = forest.left_share(node, start);
            share[forest.left[node]] = here * left;
            share[forest.right[node]] = here * (1 - left);
        }
    }
}

void explain_forest(const ForestView& forest, int64_t n_columns, const ShapTable& table, const ShapTable& background,
                    Unknown unknown, bool interactions, int threads, double* out) {
    ShapForest(forest, n_columns, threads).explain(table, background, unknown, interactions, threads, out);
}

}  // namespace arboretum
