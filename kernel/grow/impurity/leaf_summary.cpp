#include "grow/impurity/leaf_summary.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/midpoint.hpp"
#include "grow/impurity/impurity.hpp"

namespace arboretum {

namespace {

// The smallest number with half of the weight at or below it; between two of equal halves, their middle.
template <class Number, class WeightOf>
double weighted_median(int64_t n, Number&& number, WeightOf&& weight_of) {
    std::vector<std::pair<double, double>> pairs(n);
    double total = 0, running = 0;
    for (int64_t i = 0; i < n; ++i) pairs[i] = {number(i), weight_of(i)};
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [y, weight] : pairs) total += weight;  // sorted: the same for any order of the rows
    for (int64_t i = 0; i < n; ++i) {
        running += pairs[i].second;
        if (running > total / 2) return pairs[i].first;
        if (running == total / 2 && i + 1 < n) return midpoint(pairs[i].first, pairs[i + 1].first);
    }
    return pairs.back().first;
}

void combine(GrownTree& tree, const Target& target, size_t id) {
    GrownNode& node = tree.nodes[id];
    if (target.criterion == Criterion::absolute_error) return;  // has its own value
    // Sums of floats, which depend on the order of the rows in the last digits.
    if (target.criterion == Criterion::log_rank) node.gain = static_cast<float>(node.gain);
    const GrownNode &left = tree.nodes[node.left], &right = tree.nodes[node.right];
    node.weight = left.weight + right.weight;
    node.gain /= target.gain_scale();
    node.risk = left.risk + right.risk + node.gain;
    if (target.treatment.n_arms > 0) return;  // has its own values
    const int width = target.width();
    auto value = [&](int64_t which, int k) -> double& { return tree.values[which * width + k]; };
    for (int k = 0; k < width; ++k)
        value(static_cast<int64_t>(id), k) =
            (value(node.left, k) * left.weight + value(node.right, k) * right.weight) / node.weight;
}

}  // namespace

void put_cut(const Cut& cut, std::span<const ProjectionTerm> terms, GrownTree& tree, GrownNode& node) {
    node.kind = cut.condition.kind;
    node.feature = cut.condition.feature;
    node.missing_left = cut.condition.missing_left;
    node.threshold = cut.threshold;
    node.gain = std::max(cut.gain, 0.0);  // below only by rounding
    if (node.kind == ConditionKind::category) tree.put_set(cut.condition.codes(), cut.condition.set.size(), node);
    if (node.kind == ConditionKind::oblique) tree.put_terms(terms, node);
}

void join_branches(const GrownTree& top, std::span<const int32_t> stumps, std::span<const BranchNodes> branches,
                   int width, GrownTree& tree) {
    struct Visit {
        const GrownTree* store;
        size_t first;
        int32_t id, parent;
    };
    std::vector<const BranchNodes*> graft(top.nodes.size(), nullptr);
    size_t n_nodes = top.nodes.size();
    for (size_t i = 0; i < branches.size(); ++i) {
        graft[stumps[i]] = &branches[i];
        n_nodes += branches[i].n - 1;
    }
    tree.clear();
    tree.nodes.reserve(n_nodes);
    tree.values.resize(n_nodes * width);
    double* values = tree.values.data();
    std::vector<Visit> stack{{&top, 0, 0, -1}};
    while (!stack.empty()) {
        Visit visit = stack.back();
        stack.pop_back();
        if (visit.store == &top && graft[visit.id] != nullptr)
            visit = {graft[visit.id]->store, graft[visit.id]->first, 0, visit.parent};
        const size_t at = visit.first + visit.id;
        const int32_t id = static_cast<int32_t>(tree.nodes.size());
        GrownNode& node = tree.nodes.emplace_back(visit.store->nodes[at]);
        if (visit.parent >= 0) {
            GrownNode& parent = tree.nodes[visit.parent];
            (parent.left < 0 ? parent.left : parent.right) = id;
        }
        if (!node.is_leaf()) {
            stack.push_back({visit.store, visit.first, node.right, id});
            stack.push_back({visit.store, visit.first, node.left, id});
            node.left = node.right = -1;
        }
        if (const auto set = visit.store->set_of(node); !set.empty()) {
            node.first_item = static_cast<int64_t>(tree.set_words.size());
            tree.set_words.insert(tree.set_words.end(), set.begin(), set.end());
        }
        if (const auto terms = visit.store->terms_of(node); !terms.empty()) tree.put_terms(terms, node);
        values = std::copy_n(visit.store->values.data() + at * width, width, values);
    }
}

void finish_tree(GrownTree& tree, const Target& target, const SplitRules& rules) {
    for (size_t id = tree.nodes.size(); id-- > 0;)
        if (!tree.nodes[id].is_leaf()) combine(tree, target, id);
    if (!rules.monotone.empty()) clip_values(tree.nodes, rules.monotone, {}, tree.values);
}

void LeafSummary::finish_classes(GrownNode& node, double* values) const {
    node.risk = class_risk(values, node.weight);
    for (int k = 0; k < width_; ++k) values[k] /= node.weight;
}

void LeafSummary::finish_numbers(const RowNumbers& rows, const uint32_t* copies, GrownNode& node,
                                 double* values) const {
    const int64_t n = rows.size();
    auto weight_of = [&](Row row) {
        return static_cast<double>(copies != nullptr ? copies[row] : 1u) * target_.weight_of(row);
    };
    node.risk = 0;
    for (int o = 0; o < target_.n_outputs; ++o) {
        auto number = [&](int64_t i) { return target_.numbers[static_cast<int64_t>(rows[i]) * target_.n_outputs + o]; };
        bool equal = true;
        for (int64_t i = 1; i < n && equal; ++i) equal = number(i) == number(0);
        if (equal)
            values[o] = number(0);
        else if (target_.criterion == Criterion::absolute_error)
            values[o] = weighted_median(n, number, [&](int64_t i) { return weight_of(rows[i]); });
        for (int64_t i = 0; i < n && !equal; ++i) node.risk += weight_of(rows[i]) * number_risk(number(i), values[o]);
    }
}

double LeafSummary::class_risk(const double* sums, double weight) const {
    if (target_.is_binary()) {
        const double both[2] = {weight - sums[0], sums[0]};
        return output_risk(both, 2, weight);
    }
    double risk = 0;
    for (int o = 0; o < target_.n_outputs; sums += target_.n_classes[o], ++o)
        risk += output_risk(sums, target_.n_classes[o], weight);
    return risk;
}

double LeafSummary::output_risk(const double* counts, int n, double weight) const {
    EntropyTerm term;
    double risk = target_.criterion == Criterion::entropy ? term(weight) : weight;
    for (int k = 0; k < n; ++k)
        risk -= target_.criterion == Criterion::entropy ? term(counts[k]) : counts[k] * counts[k] / weight;
    return std::max(risk, 0.0);
}

double LeafSummary::number_risk(double y, double mean) const {
    if (target_.criterion == Criterion::absolute_error) return std::abs(y - mean);
    if (target_.criterion == Criterion::poisson) return y > 0 ? y * std::log(y / mean) - y + mean : mean;
    return (y - mean) * (y - mean);
}

}  // namespace arboretum
