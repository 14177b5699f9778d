// The rows of a branch, and what the branch asks of them. It does not know how they are kept (node_rows.hpp): the loop
// that grows it is compiled once for all ways.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "grow/impurity/forest_task.hpp"
#include "grow/impurity/node_rows.hpp"
#include "grow/impurity/node_search.hpp"
#include "grow/impurity/oblique.hpp"

namespace arboretum {

// Lives as long as a fit: memory is used again by the next branch.
template <class Statistics>
class BranchRows {
  public:
    using Stat = typename Statistics::Stat;
    using Word = typename Statistics::Word;
    using Gain = typename Statistics::Gain;

    // A node as a search sees it.
    struct Node {
        int64_t begin, end;  // its rows
        const Word* total;
        Bounds bounds;
        uint64_t path;  // what random draws of the node depend on
    };

    virtual ~BranchRows() = default;

    // Rows of the largest branch that can be held.
    virtual int64_t most_rows() const = 0;
    // Threads that may search at the same time, each under a number of its own.
    virtual int n_threads() const = 0;

    // Takes rows [begin, end) of a tree, whose order may be changed; returns where the first of them is from now on.
    virtual int64_t load(Stat* rows, int64_t begin, int64_t end) = 0;
    virtual RowNumbers numbers(int64_t begin, int64_t end) const = 0;
    virtual const Stat& stat(int64_t place) const = 0;
    // As the table has it.
    virtual Code code(int64_t place, int32_t feature) const = 0;

    // The best cut of some features, or of a projection, if it beats `best`.
    virtual void offer_features(const int32_t* features, int n, const Node& node, const Gain& gain, int thread,
                                Cut& best) = 0;
    virtual void offer_projection(int number, const Node& node, const Gain& gain, int thread, Cut& best) = 0;

    // Rows that go left stay in front, in their order; returns where the others begin, and adds the first to
    // left_total. terms: of an oblique cut.
    virtual int64_t partition(const Cut& cut, std::span<const ProjectionTerm> terms, int64_t begin, int64_t end,
                              Word* left_total) = 0;

    // Whether features list rows; then, after a partition, which children are searched must be told.
    virtual bool has_lists() const = 0;
    virtual void part_lists(int64_t begin, int64_t end, bool left, bool right) = 0;
};

template <class Statistics, class Rows>
class alignas(bytes_apart) BranchRowsAs final : public BranchRows<Statistics> {
  public:
    using Base = BranchRows<Statistics>;
    using Entry = typename Rows::Entry;
    using typename Base::Gain;
    using typename Base::Node;
    using typename Base::Stat;
    using typename Base::Word;

    BranchRowsAs(const ForestTask<Statistics>& task, int threads) : task_(task), rows_(task.data) {
        for (int i = 0; i < threads; ++i) searches_.push_back(std::make_unique<Searches>(task, rows_));
    }

    int64_t most_rows() const override {
        if constexpr (is_copied)
            return rows_.most_rows();
        else
            return std::numeric_limits<int64_t>::max();
    }

    int n_threads() const override { return static_cast<int>(searches_.size()); }

    int64_t load(Stat* rows, int64_t begin, int64_t end) override {
        if constexpr (is_copied) {
            rows_.load(rows + begin, end - begin, copied_);
            entries_ = copied_.data();
            return 0;
        } else {
            entries_ = rows;
            return begin;
        }
    }

    RowNumbers numbers(int64_t begin, int64_t end) const override { return {entries_ + begin, end - begin}; }

    const Stat& stat(int64_t place) const override { return entries_[place]; }

    Code code(int64_t place, int32_t feature) const override {
        return rows_.with_codes(feature,
                                [&](auto code_of) { return rows_.table_code(feature, code_of(entries_[place])); });
    }

    void offer_features(const int32_t* features, int n, const Node& node, const Gain& gain, int thread,
                        Cut& best) override {
        searches_[thread]->plain.offer_features(features, n, view(node), gain, best);
    }

    void offer_projection(int number, const Node& node, const Gain& gain, int thread, Cut& best) override {
        Searches& own = *searches_[thread];
        own.oblique.offer(number, own.plain, view(node), gain, best);
    }

    int64_t partition(const Cut& cut, std::span<const ProjectionTerm> terms, int64_t begin, int64_t end,
                      Word* left_total) override {
        const Condition& condition = cut.condition;
        if (condition.kind == ConditionKind::oblique)
            return move_rows(begin, end, left_total, [&](const Entry& e) {
                return Projections::value(terms, task_.projections.row(e.row)) <= cut.threshold;
            });
        const Code threshold = condition.threshold, missing = rows_.n_codes(condition.feature) - 1;
        const bool missing_left = condition.missing_left;
        const Code n_bins = task_.data.feature(condition.feature).n_bins;
        return rows_.with_codes(condition.feature, [&](auto code_of) {
            if (condition.kind == ConditionKind::numeric)
                return move_rows(begin, end, left_total, [=](const Entry& e) {
                    const Code code = code_of(e);
                    return (code <= threshold) | ((code == missing) & missing_left);
                });
            return move_rows(begin, end, left_total, [&](const Entry& e) {
                return condition.goes_left(rows_.table_code(condition.feature, code_of(e)), n_bins);
            });
        });
    }

    bool has_lists() const override { return Rows::is_ordered; }

    void part_lists(int64_t begin, int64_t end, bool left, bool right) override {
        if constexpr (Rows::is_ordered) rows_.part_lists(begin, end, left, right);
    }

  private:
    static constexpr bool is_copied = Rows::travels || Rows::is_ordered;  // rows of a branch

    using Search = NodeSearch<Statistics, Rows>;

    // The searches of one thread. Their place must not change.
    struct alignas(bytes_apart) Searches {
        Searches(const ForestTask<Statistics>& task, const Rows& rows)
            : plain(task.data, rows, task.statistics, task.rules, task.edges, task.target.weight_scale),
              oblique(task.projections, task.statistics, task.rules) {}

        Search plain;
        ProjectionSearch<Statistics, Rows> oblique;
    };

    typename Search::Node view(const Node& node) const {
        return {entries_ + node.begin, node.end - node.begin, node.total, node.bounds, node.path};
    }

    template <class GoesLeft>
    int64_t move_rows(int64_t begin, int64_t end, Word* left_total, GoesLeft goes_left) {
        if (static_cast<int64_t>(right_rows_.size()) < end - begin) right_rows_.resize(end - begin);
        Entry *next_left = entries_ + begin, *next_right = right_rows_.data();
        for (const Entry *e = entries_ + begin, *last = entries_ + end; e != last; ++e) {
            const bool left = goes_left(*e);
            *next_right = *e;
            *next_left = *e;
            task_.statistics.add_if(left, *e, left_total);
            if constexpr (Rows::is_ordered) rows_.mark(*e, left);
            next_left += left;
            next_right += !left;
        }
        std::copy(right_rows_.data(), next_right, next_left);
        return next_left - entries_;
    }

    const ForestTask<Statistics>& task_;
    Rows rows_;
    Entry* entries_ = nullptr;  // of the branch
    std::vector<Entry> copied_, right_rows_;
    std::vector<std::unique_ptr<Searches>> searches_;
};

}  // namespace arboretum
