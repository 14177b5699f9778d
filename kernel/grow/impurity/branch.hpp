// The recipe of trees of impurity (grow.hpp): classes or numbers, exact or binned, deep.
//
// Nothing is inherited from a parent: a node of a forest looks at only a few features, so that there is no histogram to
// subtract from (tree_builder.hpp is the recipe of trees that look at all of them).
//
// Nodes that fit the cache are set aside as roots of branches: there rows carry their codes (node_rows.hpp). Forests
// give every tree one thread. A tree alone lets threads share the features of large nodes and gives each branch to one
// of them. What a node draws depends on its path from the root, so that the tree is always the same.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/midpoint.hpp"
#include "base/parallel.hpp"
#include "base/per_thread.hpp"
#include "base/rng.hpp"
#include "grow/grow.hpp"
#include "grow/impurity/branch_rows.hpp"
#include "grow/impurity/forest_task.hpp"
#include "grow/impurity/impurity.hpp"
#include "grow/impurity/leaf_summary.hpp"

namespace arboretum {

// A node with rows that may be split.
template <class Statistics>
struct OpenNode {
    int32_t id = 0;
    int32_t depth = 0;
    int64_t begin = 0, end = 0;
    uint64_t path = 0;
    Bounds bounds = {};
    typename Statistics::Sum total = {};
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

// What all branches of one tree share.
struct TreeLimits {
    const uint32_t* copies;  // of each row of the table; null: once each
    double least_gain;
    int64_t aside_rows;  // nodes of up to this many rows are set aside; 0: none
};

// A tree, or a part of one, that grows from one node.
template <class Statistics>
class Branch {
  public:
    using Open = OpenNode<Statistics>;
    using Rows = BranchRows<Statistics>;
    using Gain = typename Statistics::Gain;

    // rows: hold those of the root. store: where the nodes of the branch are added.
    Branch(const ForestTask<Statistics>& task, const TreeLimits& limits, Rows& rows, GrownTree& store)
        : task_(task),
          rules_(task.rules),
          limits_(limits),
          rows_(rows),
          features_(task.data.n_features()),
          store_(store),
          first_(store.nodes.size()) {
        std::iota(features_.begin(), features_.end(), 0);
    }

    // Returns leaves that are roots of further branches.
    std::vector<Open> grow_from(Open root) {
        node_ = std::move(root);
        grow(*this);
        for (const Open& node : open_) make_leaf(node);
        return std::move(aside_);
    }

    // ---- steps of grow.hpp ---------------------------------------------------------------------------------------

    void open() { add(std::move(node_)); }

    bool next() {
        const bool best_first = rules_.max_leaf_nodes > 0;
        if (open_.empty() || (best_first && n_leaves_ >= rules_.max_leaf_nodes)) return false;
        ++n_leaves_;
        if (best_first) std::pop_heap(open_.begin(), open_.end(), typename Open::LessGain{});
        node_ = std::move(open_.back());
        open_.pop_back();
        return true;
    }

    void partition() {
        const int depth = node_.depth + 1;
        terms_.clear();
        if (node_.cut.condition.kind == ConditionKind::oblique)
            task_.projections.draw_terms(node_.path, node_.cut.projection, terms_);
        left_ = {0, depth, node_.begin, node_.begin, draw(node_.path, 1), node_.bounds, task_.statistics.zero()};
        left_.end = rows_.partition(node_.cut, terms_, node_.begin, node_.end, left_.total.data());
        left_.inherited = inherited_from(node_);
        right_ = {0, depth, left_.end, node_.end, draw(node_.path, 2), node_.bounds, std::move(node_.total)};
        right_.inherited = left_.inherited;
        for (int k = 0; k < task_.statistics.words(); ++k) right_.total[k] -= left_.total[k];
        if (rows_.has_lists()) rows_.part_lists(node_.begin, node_.end, is_searched(left_), is_searched(right_));
    }

    void commit() {
        settle_absent(node_, left_, right_);
        set_bounds(node_.cut, left_, right_);
        const int32_t id = node_.id;
        for (ProjectionTerm& term : terms_) term.feature = task_.projections.binned_feature(term);
        put_cut(node_.cut, terms_, store_, node(id));
        node(id).left = n_nodes();
        add(std::move(left_));
        node(id).right = n_nodes();
        add(std::move(right_));
    }

  private:
    GrownNode& node(int32_t id) { return store_.nodes[first_ + id]; }
    int32_t n_nodes() const { return static_cast<int32_t>(store_.nodes.size() - first_); }

    // A new node: a leaf, set aside, or open for a split.
    void add(Open node) {
        node.id = n_nodes();
        store_.nodes.emplace_back().n_rows = task_.n_copies(node.total.data(), node.n_rows());
        store_.values.resize(store_.nodes.size() * task_.summary.width());
        // Neither a median nor what nodes inherit is the mean of two.
        if constexpr (std::is_same_v<Statistics, Medians> || Inheriting<Statistics>) make_leaf(node);
        if (!may_split(node)) return make_leaf(node);
        if constexpr (splits_pairs)
            if (task_.splits_pairs && node.n_rows() == 2) return split_pair(node);
        if (node.n_rows() <= limits_.aside_rows) {
            aside_.push_back(std::move(node));
            return;
        }
        find_cut(node);
        if (!node.cut.found() || node.cut.gain < limits_.least_gain) return make_leaf(node);
        open_.push_back(std::move(node));
        if (rules_.max_leaf_nodes > 0) std::push_heap(open_.begin(), open_.end(), typename Open::LessGain{});
    }

    static constexpr bool splits_pairs = !RanksRows<Statistics> && !Inheriting<Statistics>;

    bool is_searched(const Open& node) const {
        return !(splits_pairs && task_.splits_pairs && node.n_rows() == 2) && may_split(node);
    }

    bool may_split(const Open& node) const {
        return (rules_.max_depth <= 0 || node.depth < rules_.max_depth) && node.n_rows() >= rules_.min_samples_split &&
               node.n_rows() >= 2 * rules_.min_samples_leaf &&
               !task_.statistics.is_pure(node.total.data(), rows_.numbers(node.begin, node.end));
    }

    void make_leaf(const Open& open) {
        GrownNode& leaf = node(open.id);
        double* value = &store_.values[(first_ + open.id) * task_.summary.width()];
        const typename Statistics::Word* total = open.total.data();
        leaf.weight = task_.statistics.weight(total) / task_.target.weight_scale;
        if constexpr (Inheriting<Statistics>) {
            std::ranges::copy(task_.statistics.outcomes(total, open.inherited), value);
        } else if (task_.target.is_classes()) {
            task_.statistics.class_sums(total, value);
            task_.summary.finish_classes(leaf, value);
        } else {
            for (int o = 0; o < task_.target.n_outputs; ++o) value[o] = task_.statistics.mean(total, o);
            if (task_.target.criterion == Criterion::log_rank) return;
            task_.summary.finish_numbers(rows_.numbers(open.begin, open.end), limits_.copies, leaf, value);
        }
    }

    auto inherited_from(const Open& node) const {
        if constexpr (Inheriting<Statistics>)
            return task_.statistics.outcomes(node.total.data(), node.inherited);
        else
            return node.inherited;
    }

    Gain gain_of(const Open& node) const {
        if constexpr (Inheriting<Statistics>)
            return {task_.statistics, node.total.data(), node.inherited};
        else
            return {task_.statistics, node.total.data()};
    }

    // Two rows: extra trees of numbers have them in a third of their inner nodes, other trees less often. Each feature that
    // tells them apart has one cut, whose gain only depends on which of them goes left; and the children are leaves.
    void split_pair(Open& node) {
        const Gain gain = gain_of(node);
        typename Statistics::Sum sums[2] = {task_.statistics.zero(), task_.statistics.zero()};
        double gains[2];
        for (int i = 0; i < 2; ++i) {
            task_.statistics.add(rows_.stat(node.begin + i), sums[i].data());
            gains[i] = gain(sums[i].data());
        }
        Cut& cut = node.cut;
        Code codes[2] = {0, 0};
        int first = 0;  // the row that goes left
        visit_features(node, [&](int32_t feature, int visited) {
            const Code a = rows_.code(node.begin, feature), b = rows_.code(node.begin + 1, feature);
            const int left = a < b ? 0 : 1;
            if (a != b && gains[left] > cut.bar) {
                cut.gain = gains[left];
                cut.bar = bar_above(cut.gain);
                cut.condition.feature = feature;
                codes[0] = std::min(a, b), codes[1] = std::max(a, b);
                first = left;
            }
            return visited < task_.n_visits || !cut.found();
        });
        if (!cut.found() || cut.gain < limits_.least_gain) return make_leaf(node);
        cut.condition.kind = ConditionKind::numeric;
        cut.condition.missing_left =
            task_.statistics.weight(sums[first].data()) >= task_.statistics.weight(sums[1 - first].data());
        cut.threshold = rules_.random_thresholds
                            ? random_cut(task_.edges, node.path, cut.condition.feature, codes[0], codes[1])
                            : task_.edges.between(cut.condition.feature, codes[0], codes[1]);
        put_cut(cut, {}, store_, this->node(node.id));
        for (int side : {first, 1 - first}) {
            (side == first ? this->node(node.id).left : this->node(node.id).right) = n_nodes();
            const int64_t place = node.begin + side;
            add({0, node.depth + 1, place, place + 1, 0, node.bounds, std::move(sums[side])});
        }
    }

    // visit(feature, how many were visited) for features in random order, until it returns false.
    template <class Visit>
    void visit_features(const Open& node, Visit&& visit) {
        const int n = task_.data.n_features();
        int visited = 0;
        swaps_.clear();
        for (bool more = true; more && visited < n;) {
            draw_feature(node, visited);
            const int32_t feature = features_[visited++];
            more = visit(feature, visited);
        }
        undo_swaps();
    }

    // Puts the next feature in its place.
    void draw_feature(const Open& node, int visited) {
        const int n = task_.data.n_features();
        if (task_.n_visits >= n) return;
        const int other =
            visited + static_cast<int>(unit(draw(node.path, first_feature_draw + visited)) * (n - visited));
        std::swap(features_[visited], features_[other]);
        swaps_.push_back(other);
    }

    void undo_swaps() {
        for (int i = static_cast<int>(swaps_.size()); i-- > 0;) std::swap(features_[i], features_[swaps_[i]]);
    }

    // Features in random order until enough were looked at and one of them can be cut.
    void find_cut(Open& node) {
        const typename Rows::Node view{node.begin, node.end, node.total.data(), node.bounds, node.path};
        const Gain gain = gain_of(node);
        const int n = task_.data.n_features();
        int visited = 0;
        swaps_.clear();
        auto next = [&] {
            draw_feature(node, visited);
            return features_[visited++];
        };
        while (visited < task_.n_visits) next();
        if (shares_work(node))
            share_work(task_.n_visits, node.cut, [&](int64_t i, int thread, Cut& cut) {
                rows_.offer_features(&features_[i], 1, view, gain, thread, cut);
            });
        else
            rows_.offer_features(features_.data(), task_.n_visits, view, gain, 0, node.cut);
        if (task_.projections.n_projections() > 0) offer_projections(node, view, gain);
        while (visited < n && !node.cut.found()) {
            const int32_t feature = next();
            rows_.offer_features(&feature, 1, view, gain, 0, node.cut);
        }
        undo_swaps();
    }

    void offer_projections(Open& node, const typename Rows::Node& view, const Gain& gain) {
        const int n = task_.projections.n_projections();
        if (shares_work(node))
            share_work(n, node.cut, [&](int64_t i, int thread, Cut& cut) {
                rows_.offer_projection(static_cast<int>(i), view, gain, thread, cut);
            });
        else
            for (int i = 0; i < n; ++i) rows_.offer_projection(i, view, gain, 0, node.cut);
    }

    bool shares_work(const Open& node) const { return rows_.n_threads() > 1 && task_.is_shared(node.n_rows()); }

    // offer(i, thread, cut) for i in [0, n); the best of all cuts, in their order.
    template <class Offer>
    void share_work(int n, Cut& best, Offer&& offer) {
        std::vector<Cut> cuts(n);
        parallel_for(n, rows_.n_threads(), [&](int64_t i, int thread) { offer(i, thread, cuts[i]); });
        for (Cut& cut : cuts)
            if (cut.gain > best.bar) best = std::move(cut);
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
        const RowNumbers numbers = rows_.numbers(node.begin, node.end);
        for (int64_t i = 0; i < numbers.size(); ++i)
            if (task_.data.code(feature, numbers[i]) == missing) return true;
        return false;
    }

    void set_bounds(const Cut& cut, Open& left, Open& right) const {
        if constexpr (requires { task_.statistics.value(left.total.data()); }) {
            const int direction = rules_.monotone.empty() ? 0 : rules_.monotone[cut.condition.feature];
            if (direction == 0) return;
            auto value = [&](const Open& child) { return task_.statistics.value(child.total.data()); };
            part_bounds(direction, midpoint(value(left), value(right)), left.bounds, right.bounds);
        }
    }

    const ForestTask<Statistics>& task_;
    const SplitRules& rules_;
    const TreeLimits& limits_;
    Rows& rows_;
    std::vector<int32_t> features_;  // 0 … n−1 between nodes
    std::vector<int32_t> swaps_;
    std::vector<ProjectionTerm> terms_;
    GrownTree& store_;
    const size_t first_;              // where the nodes of the branch begin in the store
    std::vector<Open> open_, aside_;  // open nodes are a stack, or a heap
    Open node_, left_, right_;        // the node that is split, and its children
    int n_leaves_ = 1;
};

// What growing one tree needs; lives as long as a fit.
template <class Statistics>
struct TreeSpace {
    std::unique_ptr<BranchRows<Statistics>> top;                 // all threads share the work of its nodes
    std::vector<std::unique_ptr<BranchRows<Statistics>>> below;  // one per thread
    std::vector<typename Statistics::Stat> rows;
    std::vector<uint32_t> copies;
    GrownTree top_nodes, whole;
    PerThread<GrownTree> branch_nodes;  // branches one after the other
};

template <class Statistics>
class ImpurityBuilder {
  public:
    using Stat = typename Statistics::Stat;
    using Open = OpenNode<Statistics>;
    using Space = TreeSpace<Statistics>;

    explicit ImpurityBuilder(const ForestTask<Statistics>& task) : task_(task) {}

    // copies: how often each row of the table is drawn, null for once each. The tree is kept until the next one.
    const GrownTree& grow(const uint32_t* copies, uint64_t seed, Space& space) const {
        fill_rows(copies, space.rows);
        Open root{
            0, 0, 0, static_cast<int64_t>(space.rows.size()), draw(seed, 0x726f6f74), {}, task_.statistics.zero()};
        for (const Stat& row : space.rows) task_.statistics.add(row, root.total.data());
        if constexpr (Inheriting<Statistics>) root.inherited = task_.statistics.root(root.total.data());
        const double weight = task_.statistics.weight(root.total.data()) / task_.target.weight_scale;
        const double least_gain = task_.rules.min_impurity_decrease > 0
                                      ? task_.rules.min_impurity_decrease * weight * task_.target.gain_scale()
                                      : -infinity;
        space.top_nodes.clear();
        const std::vector<Open> aside =
            grow_branch(std::move(root), {copies, least_gain, aside_rows(space)}, space, *space.top, space.top_nodes);
        std::vector<int32_t> stumps;
        for (const Open& node : aside) stumps.push_back(node.id);
        const std::vector<BranchNodes> below = grow_below(aside, {copies, least_gain, 0}, space);
        join_branches(space.top_nodes, stumps, below, task_.summary.width(), space.whole);
        finish_tree(space.whole, task_.target, task_.rules);
        return space.whole;
    }

  private:
    std::vector<Open> grow_branch(Open root, const TreeLimits& limits, Space& space, BranchRows<Statistics>& rows,
                                  GrownTree& store) const {
        const int64_t n = root.n_rows();
        root.begin = rows.load(space.rows.data(), root.begin, root.end);
        root.end = root.begin + n;
        return Branch<Statistics>(task_, limits, rows, store).grow_from(std::move(root));
    }

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
        const int64_t most = space.below[0]->most_rows();
        if (most < std::numeric_limits<int64_t>::max()) return most;
        return space.below.size() > 1 ? std::max<int64_t>(1, task_.shared_work / task_.n_visits) : 0;
    }

    // Branches, the largest first, each by one thread.
    std::vector<BranchNodes> grow_below(const std::vector<Open>& roots, const TreeLimits& limits, Space& space) const {
        std::vector<std::pair<int64_t, size_t>> order;  // −rows, place
        for (const Open& root : roots) order.emplace_back(-root.n_rows(), order.size());
        std::sort(order.begin(), order.end());
        for (GrownTree& store : space.branch_nodes) store.clear();
        std::vector<BranchNodes> grown(roots.size());
        parallel_for(static_cast<int64_t>(order.size()), static_cast<int>(space.below.size()),
                     [&](int64_t i, int worker) {
                         const size_t place = order[i].second;
                         GrownTree& store = space.branch_nodes[worker];
                         const size_t first = store.nodes.size();
                         grow_branch(roots[place], limits, space, *space.below[worker], store);
                         grown[place] = {&store, first, store.nodes.size() - first};
                     });
        return grown;
    }

    const ForestTask<Statistics>& task_;
};

}  // namespace arboretum
