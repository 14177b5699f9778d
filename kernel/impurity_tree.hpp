// Grows a tree of impurity: classes or numbers, exact or binned, deep.
//
//   open the root
//   while a node is open:                the last one opened, or the one of largest gain if leaves are limited
//       partition its rows in place, open its children: each looks for its best cut
//
// Nothing is inherited from a parent: a node of a forest looks at a few features only, so that there is no histogram to
// subtract from (grow.hpp is the loop for trees that look at all of them).
//
// Nodes that fit the cache are set aside as roots of branches: there rows carry their codes (node_rows.hpp). Forests
// give every tree one thread. A tree alone lets threads share the features of large nodes and gives each branch to one
// of them. What a node draws depends on its path from the root, so that the tree is always the same.
#pragma once

#include <memory>
#include <numeric>
#include <optional>
#include <span>

#include "impurity_nodes.hpp"
#include "oblique.hpp"

namespace arboretum {

// What all branches of a tree share.
template <class S>
struct ForestTask {
    using Statistics = S;

    const BinnedData& data;
    const Target& target;
    const Statistics& statistics;
    const SplitRules& rules;
    const CodeEdges& edges;
    const Projections& projections;
    LeafSummary summary;
    int n_visits;  // features that a node looks at

    ForestTask(const BinnedData& data, const Target& target, const Statistics& statistics, const SplitRules& rules,
               const CodeEdges& edges, const Projections& projections)
        : data(data),
          target(target),
          statistics(statistics),
          rules(rules),
          edges(edges),
          projections(projections),
          summary(target),
          n_visits(rules.max_features > 0 ? std::min(rules.max_features, data.n_features()) : data.n_features()) {}

    // Threads share the features of a node of so many rows × features.
    bool is_shared(int64_t n_rows) const { return n_rows * n_visits >= shared_work; }
    static constexpr int64_t shared_work = int64_t{1} << 13;

    // From the units of a gain to weight · impurity.
    double gain_scale() const {
        if (target.is_classes() || target.treatment.n_arms > 0) return target.weight_scale;
        if (target.criterion == Criterion::poisson) return target.sum_scale;
        if (target.has_rounded_gains()) return 1;
        return target.sum_scale * target.sum_scale / target.weight_scale;
    }
};

// What a thread needs for itself to grow branches; lives as long as a fit.
template <class Statistics, class Rows>
struct BranchScratch {
    explicit BranchScratch(const ForestTask<Statistics>& task)
        : rows(std::make_unique<Rows>(task.data)),
          search(task.data, *rows, task.statistics, task.rules, task.edges, task.target.weight_scale),
          oblique(task.projections, task.statistics, task.rules),
          features(task.data.n_features()) {
        std::iota(features.begin(), features.end(), 0);
    }
    std::unique_ptr<Rows> rows;  // its place must not change
    NodeSearch<Statistics, Rows> search;
    ProjectionSearch<Statistics, Rows> oblique;
    std::vector<ProjectionTerm> terms;
    std::vector<int32_t> features;  // 0 … n−1 between nodes
    std::vector<int32_t> swaps;
    std::vector<typename Rows::Entry> entries, right_rows;
};

// A node with rows that may be split.
template <class Statistics>
struct OpenNode {
    int32_t id;
    int32_t depth;
    int64_t begin, end;
    uint64_t path;
    Bounds bounds;
    typename Statistics::Sum total;
    Cut cut = {};
    typename InheritedBy<Statistics>::type inherited = {};

    int64_t n_rows() const { return end - begin; }

    struct LessGain {
        bool operator()(const OpenNode& a, const OpenNode& b) const {
            return a.cut.gain != b.cut.gain ? a.cut.gain < b.cut.gain : a.id > b.id;
        }
    };
};

// Draws of a node's path: 1 and 2 are the paths of its children, features come after.
constexpr uint64_t first_feature_draw = 16;

// A tree, or a part of one, that grows from one node.
template <class Statistics, class Rows>
class Branch {
  public:
    using Entry = typename Rows::Entry;
    using Open = OpenNode<Statistics>;
    using Scratch = BranchScratch<Statistics, Rows>;

    std::vector<ImpurityNode> nodes;
    std::vector<double> values;  // nodes × width
    std::vector<uint32_t> set_words;
    std::vector<ProjectionTerm> terms;
    std::vector<Open> aside;  // nodes that are roots of further branches

    // scratch: one a thread, the branch's own first. aside_rows: largest node to be set aside.
    Branch(const ForestTask<Statistics>& task, const uint32_t* copies, Entry* entries, std::span<Scratch> scratch,
           double least_gain, int64_t aside_rows)
        : task_(task),
          rules_(task.rules),
          copies_(copies),
          entries_(entries),
          scratch_(scratch),
          least_gain_(least_gain),
          aside_rows_(aside_rows) {}

    void grow(Open root) {
        const bool best_first = rules_.max_leaf_nodes > 0;
        nodes.reserve(root.n_rows());
        values.reserve(root.n_rows() * task_.summary.width());
        add(std::move(root));
        for (int n_leaves = 1; !open_.empty() && (!best_first || n_leaves < rules_.max_leaf_nodes); ++n_leaves) {
            if (best_first) std::pop_heap(open_.begin(), open_.end(), typename Open::LessGain{});
            Open node = std::move(open_.back());
            open_.pop_back();
            split(node);
        }
        for (const Open& node : open_) make_leaf(node);
    }

  private:
    // A new node: a leaf, set aside, or open for a split.
    void add(Open node) {
        node.id = static_cast<int32_t>(nodes.size());
        nodes.emplace_back();
        nodes.back().n_rows = static_cast<Row>(node.n_rows());
        values.resize(nodes.size() * task_.summary.width());
        // Neither a median nor what nodes inherit is the mean of two.
        if constexpr (std::is_same_v<Statistics, Medians> || Inheriting<Statistics>) make_leaf(node);
        if (!may_split(node)) return make_leaf(node);
        if (node.n_rows() <= aside_rows_) {
            aside.push_back(std::move(node));
            return;
        }
        find_cut(node);
        if (!node.cut.found() || node.cut.gain < least_gain_) return make_leaf(node);
        open_.push_back(std::move(node));
        if (rules_.max_leaf_nodes > 0) std::push_heap(open_.begin(), open_.end(), typename Open::LessGain{});
    }

    bool may_split(const Open& node) const {
        return (rules_.max_depth <= 0 || node.depth < rules_.max_depth) && node.n_rows() >= rules_.min_samples_split &&
               node.n_rows() >= 2 * rules_.min_samples_leaf &&
               !task_.statistics.is_pure(node.total.data(), entries_ + node.begin, node.n_rows());
    }

    void make_leaf(const Open& node) {
        double* value = &values[static_cast<size_t>(node.id) * task_.summary.width()];
        if constexpr (Inheriting<Statistics>) {
            nodes[node.id].weight = task_.statistics.weight(node.total.data()) / task_.target.weight_scale;
            std::ranges::copy(task_.statistics.outcomes(node.total.data(), node.inherited), value);
        } else {
            auto copies_of = [this](Row row) { return copies_ != nullptr ? copies_[row] : 1u; };
            task_.summary.summarise(task_.statistics, node.total.data(), entries_ + node.begin, node.n_rows(),
                                    copies_of, nodes[node.id], value);
        }
    }

    void split(Open& node) {
        const int depth = node.depth + 1;
        const auto inherited = inherited_from(node);
        Open left{0, depth, node.begin, node.begin, draw(node.path, 1), node.bounds, task_.statistics.zero()};
        left.end = partition(node, left.total.data());
        Open right{0, depth, left.end, node.end, draw(node.path, 2), node.bounds, std::move(node.total)};
        for (int k = 0; k < task_.statistics.words(); ++k) right.total[k] -= left.total[k];
        settle_absent(node, left, right);
        set_bounds(node.cut, left, right);
        left.inherited = right.inherited = inherited;
        const int32_t id = node.id;
        put_cut(node, nodes[id]);
        nodes[id].left = static_cast<int32_t>(nodes.size());
        add(std::move(left));
        nodes[id].right = static_cast<int32_t>(nodes.size());
        add(std::move(right));
    }

    auto inherited_from(const Open& node) const {
        if constexpr (Inheriting<Statistics>)
            return task_.statistics.outcomes(node.total.data(), node.inherited);
        else
            return node.inherited;
    }

    typename Statistics::Gain gain_of(const Open& node) const {
        if constexpr (Inheriting<Statistics>)
            return {task_.statistics, node.total.data(), node.inherited};
        else
            return {task_.statistics, node.total.data()};
    }

    void put_cut(const Open& open, ImpurityNode& node) {
        const Cut& cut = open.cut;
        node.kind = cut.condition.kind;
        node.feature = cut.condition.feature;
        node.missing_left = cut.condition.missing_left;
        node.threshold = cut.threshold;
        node.gain = std::max(cut.gain, 0.0);  // below only by rounding
        if (node.kind == ConditionKind::category) put_set(cut.condition.set, node);
        if (node.kind == ConditionKind::oblique) put_terms(open, node);
    }

    // As bits, or as a list if that is shorter: deep nodes see few of many categories. A list is never empty.
    void put_set(const std::vector<uint32_t>& set, ImpurityNode& node) {
        node.first_item = static_cast<int64_t>(set_words.size());
        size_t n_codes = 0;
        for (uint32_t word : set) n_codes += std::popcount(word);
        if (n_codes == 0 || n_codes >= set.size()) {
            set_words.insert(set_words.end(), set.begin(), set.end());
        } else {
            node.kind = ConditionKind::listed;
            for (size_t w = 0; w < set.size(); ++w)
                for (uint32_t bits = set[w]; bits != 0; bits &= bits - 1)
                    set_words.push_back(static_cast<uint32_t>(32 * w) + std::countr_zero(bits));
        }
        node.n_items = static_cast<int32_t>(set_words.size() - node.first_item);
    }

    void put_terms(const Open& open, ImpurityNode& node) {
        std::vector<ProjectionTerm>& drawn = scratch_[0].terms;
        task_.projections.draw_terms(open.path, open.cut.projection, drawn);
        for (ProjectionTerm& term : drawn) term.feature = task_.projections.binned_feature(term);
        node.first_item = static_cast<int64_t>(terms.size());
        node.n_items = static_cast<int32_t>(drawn.size());
        terms.insert(terms.end(), drawn.begin(), drawn.end());
    }

    // Features in random order until enough were looked at and one of them can be cut.
    void find_cut(Open& node) {
        const typename NodeSearch<Statistics, Rows>::Node view{entries_ + node.begin, node.n_rows(), node.total.data(),
                                                               node.bounds, node.path};
        const typename Statistics::Gain gain = gain_of(node);
        Scratch& own = scratch_[0];
        const int n = task_.data.n_features();
        int visited = 0;
        own.swaps.clear();
        auto next = [&] {
            if (task_.n_visits < n) {
                const int other =
                    visited + static_cast<int>(unit(draw(node.path, first_feature_draw + visited)) * (n - visited));
                std::swap(own.features[visited], own.features[other]);
                own.swaps.push_back(other);
            }
            return own.features[visited++];
        };
        while (visited < task_.n_visits) next();
        if (scratch_.size() > 1 && task_.is_shared(node.n_rows()))
            share_features(node, view, gain);
        else
            own.search.offer_features(own.features.data(), task_.n_visits, view, gain, node.cut);
        if (task_.projections.n_projections() > 0) offer_projections(node, view, gain);
        while (visited < n && !node.cut.found()) {
            const int32_t feature = next();
            own.search.offer_features(&feature, 1, view, gain, node.cut);
        }
        for (int i = static_cast<int>(own.swaps.size()); i-- > 0;)
            std::swap(own.features[i], own.features[own.swaps[i]]);
    }

    template <class View, class Gain>
    void share_features(Open& node, const View& view, const Gain& gain) {
        std::vector<Cut> cuts(task_.n_visits);
        parallel_for(task_.n_visits, static_cast<int>(scratch_.size()), [&](int64_t i, int worker) {
            scratch_[worker].search.offer_features(&scratch_[0].features[i], 1, view, gain, cuts[i]);
        });
        for (Cut& cut : cuts)
            if (cut.gain > node.cut.bar) node.cut = std::move(cut);
    }

    template <class View, class Gain>
    void offer_projections(Open& node, const View& view, const Gain& gain) {
        const int n = task_.projections.n_projections();
        if (scratch_.size() == 1 || !task_.is_shared(node.n_rows())) {
            Scratch& own = scratch_[0];
            for (int i = 0; i < n; ++i) own.oblique.offer(i, own.search, view, gain, node.cut);
            return;
        }
        std::vector<Cut> cuts(n);
        parallel_for(n, static_cast<int>(scratch_.size()), [&](int64_t i, int worker) {
            scratch_[worker].oblique.offer(static_cast<int>(i), scratch_[worker].search, view, gain, cuts[i]);
        });
        for (Cut& cut : cuts)
            if (cut.gain > node.cut.bar) node.cut = std::move(cut);
    }

    // Rows that go left stay in front, in their order; returns where the others begin.
    int64_t partition(const Open& node, typename Statistics::Word* left_total) {
        const Condition& condition = node.cut.condition;
        if (condition.kind == ConditionKind::oblique) return partition_projected(node, left_total);
        const Rows& rows = *scratch_[0].rows;
        const Code threshold = condition.threshold, missing = rows.n_codes(condition.feature) - 1;
        const bool missing_left = condition.missing_left;
        const Code n_bins = task_.data.feature(condition.feature).n_bins;
        return rows.with_codes(condition.feature, [&](auto code_of) {
            if (condition.kind == ConditionKind::numeric)
                return move_rows(node, left_total, [=](const Entry& e) {
                    const Code code = code_of(e);
                    return (code <= threshold) | ((code == missing) & missing_left);
                });
            return move_rows(node, left_total, [&](const Entry& e) {
                return condition.goes_left(rows.table_code(condition.feature, code_of(e)), n_bins);
            });
        });
    }

    int64_t partition_projected(const Open& node, typename Statistics::Word* left_total) {
        std::vector<ProjectionTerm>& drawn = scratch_[0].terms;
        task_.projections.draw_terms(node.path, node.cut.projection, drawn);
        const double threshold = node.cut.threshold;
        return move_rows(node, left_total, [&](const Entry& e) {
            return Projections::value(drawn, task_.projections.row(e.row)) <= threshold;
        });
    }

    template <class GoesLeft>
    int64_t move_rows(const Open& node, typename Statistics::Word* left_total, GoesLeft goes_left) {
        std::vector<Entry>& right_rows = scratch_[0].right_rows;
        if (static_cast<int64_t>(right_rows.size()) < node.n_rows()) right_rows.resize(node.n_rows());
        Entry *next_left = entries_ + node.begin, *next_right = right_rows.data();
        for (const Entry *e = entries_ + node.begin, *end = entries_ + node.end; e != end; ++e) {
            const bool left = goes_left(*e);
            *next_right = *e;
            *next_left = *e;
            task_.statistics.add_if(left, *e, left_total);
            next_left += left;
            next_right += !left;
        }
        std::copy(right_rows.data(), next_right, next_left);
        return next_left - entries_;
    }

    // A missing value, if the node never saw one, follows the larger child. So do categories: their sets name the
    // smaller one (node_search.hpp); and projections fill missing values.
    void settle_absent(Open& node, const Open& left, const Open& right) {
        Condition& condition = node.cut.condition;
        if (condition.kind != ConditionKind::numeric) return;
        const FeatureCodes& info = task_.data.feature(condition.feature);
        // By weight, not rows: a row of weight 3 is three rows.
        if (task_.statistics.weight(left.total.data()) < task_.statistics.weight(right.total.data())) return;
        condition.missing_left = condition.missing_left || !info.has_missing || !sees_missing(node);
    }

    bool sees_missing(const Open& node) const {
        const int32_t feature = node.cut.condition.feature;
        const Code missing = task_.data.feature(feature).n_bins;
        return std::any_of(entries_ + node.begin, entries_ + node.end,
                           [&](const Entry& e) { return task_.data.code(feature, e.row) == missing; });
    }

    void set_bounds(const Cut& cut, Open& left, Open& right) const {
        if constexpr (requires { task_.statistics.value(left.total.data()); }) {
            const int direction = rules_.monotone.empty() ? 0 : rules_.monotone[cut.condition.feature];
            if (direction == 0) return;
            const double middle =
                (task_.statistics.value(left.total.data()) + task_.statistics.value(right.total.data())) / 2;
            (direction > 0 ? left : right).bounds.upper = middle;
            (direction > 0 ? right : left).bounds.lower = middle;
        }
    }

    const ForestTask<Statistics>& task_;
    const SplitRules& rules_;
    const uint32_t* copies_;
    Entry* entries_;
    std::span<Scratch> scratch_;
    double least_gain_;
    int64_t aside_rows_;
    std::vector<Open> open_;  // a stack, or a heap
};

// Below: how the rows of branches are kept.
template <class Statistics, class Below>
class ImpurityBuilder {
  public:
    using Stat = typename Statistics::Stat;
    using TopBranch = Branch<Statistics, Columns<Stat>>;
    using LowBranch = Branch<Statistics, Below>;
    using Open = OpenNode<Statistics>;

    // What growing one tree needs, with some threads; lives as long as a fit.
    struct Space {
        Space(const ForestTask<Statistics>& task, int threads) {
            for (int i = 0; i < threads; ++i) {
                top.emplace_back(task);
                below.emplace_back(task);
            }
        }
        std::vector<typename TopBranch::Scratch> top;
        std::vector<typename LowBranch::Scratch> below;
        std::vector<Stat> rows;
        std::vector<uint32_t> copies;
    };

    explicit ImpurityBuilder(const ForestTask<Statistics>& task) : task_(task) {}

    // copies: how often each row of the table is drawn, null for once each.
    ImpurityTree grow(const uint32_t* copies, uint64_t seed, Space& space) const {
        fill_rows(copies, space.rows);
        Open root{
            0, 0, 0, static_cast<int64_t>(space.rows.size()), draw(seed, 0x726f6f74), {}, task_.statistics.zero()};
        for (const Stat& row : space.rows) task_.statistics.add(row, root.total.data());
        if constexpr (Inheriting<Statistics>) root.inherited = task_.statistics.root(root.total.data());
        const double weight = task_.statistics.weight(root.total.data()) / task_.target.weight_scale;
        const double least_gain = task_.rules.min_impurity_decrease > 0
                                      ? task_.rules.min_impurity_decrease * weight * task_.gain_scale()
                                      : -infinity;
        TopBranch top(task_, copies, space.rows.data(), space.top, least_gain, aside_rows(space));
        top.grow(std::move(root));
        std::vector<LowBranch> below = grow_below(top, copies, least_gain, space);
        ImpurityTree tree = in_preorder(top, below);
        finish(tree);
        return tree;
    }

  private:
    void fill_rows(const uint32_t* copies, std::vector<Stat>& rows) const {
        rows.clear();
        for (int64_t i = 0; i < task_.data.n_rows(); ++i) {
            const Row row = static_cast<Row>(i);
            const int64_t n = copies != nullptr ? copies[i] : 1;
            if (n > 0 && task_.target.weight_of(row) > 0) rows.push_back(task_.statistics.stat(row, n));
        }
    }

    int64_t aside_rows(const Space& space) const {
        if (task_.rules.max_leaf_nodes > 0) return 0;  // the best of all nodes is wanted
        if constexpr (!std::is_same_v<Below, Columns<Stat>>) return Below::most_rows;
        return space.top.size() > 1 ? std::max<int64_t>(1, task_.shared_work / task_.n_visits) : 0;
    }

    // Branches, the largest first, each by one thread.
    std::vector<LowBranch> grow_below(TopBranch& top, const uint32_t* copies, double least_gain, Space& space) const {
        std::vector<size_t> order(top.aside.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return top.aside[a].n_rows() > top.aside[b].n_rows(); });
        std::vector<std::optional<LowBranch>> grown(order.size());
        parallel_for(static_cast<int64_t>(order.size()), static_cast<int>(space.below.size()),
                     [&](int64_t i, int worker) {
                         typename LowBranch::Scratch& scratch = space.below[worker];
                         Open root = top.aside[order[i]];
                         auto* entries = entries_of(root, space.rows.data(), scratch);
                         grown[order[i]].emplace(task_, copies, entries, std::span(&scratch, 1), least_gain, 0);
                         grown[order[i]]->grow(std::move(root));
                     });
        std::vector<LowBranch> branches;
        for (std::optional<LowBranch>& branch : grown) branches.push_back(std::move(*branch));
        return branches;
    }

    auto* entries_of(Open& root, Stat* rows, typename LowBranch::Scratch& scratch) const {
        if constexpr (std::is_same_v<Below, Columns<Stat>>) {
            return rows;
        } else {
            scratch.rows->load(rows + root.begin, root.n_rows(), scratch.entries);
            root.end -= root.begin;
            root.begin = 0;
            return scratch.entries.data();
        }
    }

    ImpurityTree in_preorder(TopBranch& top, std::vector<LowBranch>& below) const {
        struct Part {
            std::vector<ImpurityNode>* nodes;
            const std::vector<double>* values;
            const std::vector<uint32_t>* words;
            const std::vector<ProjectionTerm>* terms;
        };
        struct Visit {
            Part part;
            int32_t id, parent;
        };
        std::vector<int32_t> graft(top.nodes.size(), -1);
        size_t n_nodes = top.nodes.size();
        for (size_t i = 0; i < below.size(); ++i) {
            graft[top.aside[i].id] = static_cast<int32_t>(i);
            n_nodes += below[i].nodes.size() - 1;
        }
        const int width = task_.summary.width();
        ImpurityTree tree;
        tree.nodes.reserve(n_nodes);
        tree.values.reserve(n_nodes * width);
        std::vector<Visit> stack{{{&top.nodes, &top.values, &top.set_words, &top.terms}, 0, -1}};
        while (!stack.empty()) {
            Visit visit = stack.back();
            stack.pop_back();
            if (visit.part.nodes == &top.nodes && graft[visit.id] >= 0) {
                LowBranch& branch = below[graft[visit.id]];
                visit = {{&branch.nodes, &branch.values, &branch.set_words, &branch.terms}, 0, visit.parent};
            }
            ImpurityNode node = (*visit.part.nodes)[visit.id];
            const int32_t id = static_cast<int32_t>(tree.nodes.size());
            if (visit.parent >= 0) {
                ImpurityNode& parent = tree.nodes[visit.parent];
                (parent.left < 0 ? parent.left : parent.right) = id;
            }
            if (!node.is_leaf()) {
                stack.push_back({visit.part, node.right, id});
                stack.push_back({visit.part, node.left, id});
                node.left = node.right = -1;
            }
            const int64_t first = std::exchange(node.first_item, static_cast<int64_t>(tree.set_words.size()));
            if (node.kind == ConditionKind::oblique) {
                const ProjectionTerm* terms = visit.part.terms->data() + first;
                tree.terms.insert(tree.terms.end(), terms, terms + node.n_items);
            } else if (node.n_items > 0) {
                const uint32_t* words = visit.part.words->data() + first;
                tree.set_words.insert(tree.set_words.end(), words, words + node.n_items);
            }
            tree.nodes.push_back(node);
            const double* values = visit.part.values->data() + static_cast<size_t>(visit.id) * width;
            tree.values.insert(tree.values.end(), values, values + width);
        }
        return tree;
    }

    // Inner nodes from their children; values keep to the order that monotone features ask for.
    void finish(ImpurityTree& tree) const {
        for (size_t id = tree.nodes.size(); id-- > 0;)
            if (!tree.nodes[id].is_leaf()) combine(tree, id);
        if (!task_.rules.monotone.empty()) clip_values(tree);
    }

    void combine(ImpurityTree& tree, size_t id) const {
        ImpurityNode& node = tree.nodes[id];
        if (task_.target.has_rounded_gains()) node.gain = static_cast<float>(node.gain);
        if (task_.target.criterion == Criterion::absolute_error) return;  // has its own value
        const ImpurityNode &left = tree.nodes[node.left], &right = tree.nodes[node.right];
        node.weight = left.weight + right.weight;
        node.gain /= task_.gain_scale();
        node.risk = left.risk + right.risk + node.gain;
        if constexpr (Inheriting<Statistics>) return;  // has its own values
        const int width = task_.summary.width();
        auto value = [&](int64_t which, int k) -> double& { return tree.values[which * width + k]; };
        for (int k = 0; k < width; ++k)
            value(static_cast<int64_t>(id), k) =
                (value(node.left, k) * left.weight + value(node.right, k) * right.weight) / node.weight;
    }

    void clip_values(ImpurityTree& tree) const {
        std::vector<Bounds> bounds(tree.nodes.size());
        for (size_t id = 0; id < tree.nodes.size(); ++id) {
            tree.values[id] = std::clamp(tree.values[id], bounds[id].lower, bounds[id].upper);
            const ImpurityNode& node = tree.nodes[id];
            if (node.is_leaf()) continue;
            bounds[node.left] = bounds[node.right] = bounds[id];
            const int direction = task_.rules.monotone[node.feature];
            if (direction == 0) continue;
            const int32_t low = direction > 0 ? node.left : node.right, high = direction > 0 ? node.right : node.left;
            auto inside = [&](int32_t child) {
                return std::clamp(tree.values[child], bounds[id].lower, bounds[id].upper);
            };
            const double middle = (inside(low) + inside(high)) / 2;
            bounds[low].upper = middle;
            bounds[high].lower = middle;
        }
    }

    const ForestTask<Statistics>& task_;
};

}  // namespace arboretum
