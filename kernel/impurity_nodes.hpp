// Nodes of a tree of impurity, and what its leaves keep of their rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "impurity.hpp"
#include "route.hpp"

namespace arboretum {

struct ImpurityNode {
    double threshold = 0;
    double weight = 0;       // Σ weight of its rows, copies counted
    double gain = 0;         // fall of weight · impurity
    double risk = 0;         // weight · impurity
    int64_t first_item = 0;  // words of a category condition, or terms of an oblique one, in the branch's pool
    int32_t left = -1, right = -1;
    int32_t feature = -1;
    Row n_rows = 0;
    ConditionKind kind = ConditionKind::leaf;
    bool missing_left = false;
    int32_t n_items = 0;  // words of a category condition, terms of an oblique one
    int32_t n_terms() const { return kind == ConditionKind::oblique ? n_items : 0; }
    bool is_leaf() const { return kind == ConditionKind::leaf; }
};

// Nodes in preorder: a left child follows its parent.
struct ImpurityTree {
    std::vector<ImpurityNode> nodes;
    std::vector<double> values;  // nodes × width
    std::vector<uint32_t> set_words;
    std::vector<ProjectionTerm> terms;  // of oblique conditions, in the order of the nodes
};

// Whether nodes take something from their parent, besides rows (uplift.hpp).
template <class Statistics>
concept Inheriting = requires { typename Statistics::Inherited; };

template <class Statistics>
struct InheritedBy {
    struct type {};
};
template <Inheriting Statistics>
struct InheritedBy<Statistics> {
    using type = typename Statistics::Inherited;
};

// Values and risk of leaves, in real units; inner nodes are the sums of their children.
class LeafSummary {
  public:
    explicit LeafSummary(const Target& target) : target_(target), width_(target.width()) {}

    int width() const { return width_; }

    // values: share of each class, or a number an output, from exact sums, so that the order of the rows does not
    // matter; a leaf of equal numbers has that number.
    template <class Statistics, class Entry, class CopiesOf>
    void summarise(const Statistics& statistics, const typename Statistics::Word* total, const Entry* entries,
                   int64_t n, CopiesOf&& copies_of, ImpurityNode& node, double* values) const {
        node.weight = statistics.weight(total) / target_.weight_scale;
        if (target_.is_classes()) {
            statistics.class_sums(total, values);
            node.risk = class_risk(values, node.weight);
            for (int k = 0; k < width_; ++k) values[k] /= node.weight;
            return;
        }
        node.risk = 0;
        if (target_.criterion == Criterion::log_rank) {
            values[0] = statistics.mean(total, 0);
            return;
        }
        auto weight_of = [&](Row row) { return static_cast<double>(copies_of(row)) * target_.weight_of(row); };
        for (int o = 0; o < target_.n_outputs; ++o) {
            auto number = [&](int64_t i) {
                return target_.numbers[static_cast<int64_t>(entries[i].row) * target_.n_outputs + o];
            };
            bool equal = true;
            for (int64_t i = 1; i < n && equal; ++i) equal = number(i) == number(0);
            if (equal)
                values[o] = number(0);
            else if (target_.criterion == Criterion::absolute_error)
                values[o] = weighted_median(entries, n, number, weight_of);
            else
                values[o] = statistics.mean(total, o);
            for (int64_t i = 0; i < n && !equal; ++i)
                node.risk += weight_of(entries[i].row) * number_risk(number(i), values[o]);
        }
    }

  private:
    // The smallest number with half of the weight at or below it; between two of equal halves, their middle.
    template <class Entry, class Number, class WeightOf>
    static double weighted_median(const Entry* entries, int64_t n, Number&& number, WeightOf&& weight_of) {
        std::vector<std::pair<double, double>> pairs(n);
        double total = 0, running = 0;
        for (int64_t i = 0; i < n; ++i) {
            pairs[i] = {number(i), weight_of(entries[i].row)};
            total += pairs[i].second;
        }
        std::sort(pairs.begin(), pairs.end());
        for (int64_t i = 0; i < n; ++i) {
            running += pairs[i].second;
            if (running > total / 2) return pairs[i].first;
            if (running == total / 2 && i + 1 < n) return pairs[i].first / 2 + pairs[i + 1].first / 2;
        }
        return pairs.back().first;
    }

    double class_risk(const double* sums, double weight) const {
        if (target_.is_binary()) {
            const double both[2] = {weight - sums[0], sums[0]};
            return output_risk(both, 2, weight);
        }
        double risk = 0;
        for (int o = 0; o < target_.n_outputs; sums += target_.n_classes[o], ++o)
            risk += output_risk(sums, target_.n_classes[o], weight);
        return risk;
    }

    double output_risk(const double* counts, int n, double weight) const {
        EntropyTerm term;
        double risk = target_.criterion == Criterion::entropy ? term(weight) : weight;
        for (int k = 0; k < n; ++k)
            risk -= target_.criterion == Criterion::entropy ? term(counts[k]) : counts[k] * counts[k] / weight;
        return std::max(risk, 0.0);
    }

    double number_risk(double y, double mean) const {
        if (target_.criterion == Criterion::absolute_error) return std::abs(y - mean);
        if (target_.criterion == Criterion::poisson) return y > 0 ? y * std::log(y / mean) - y + mean : mean;
        return (y - mean) * (y - mean);
    }

    const Target& target_;
    int width_;
};

}  // namespace arboretum
