// Rows, or points of a grid, that go down a tree together: lists that conditions divide (dependence.hpp,
// shuffling.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "data/raw_column.hpp"
#include "forest/forest.hpp"

namespace arboretum {

// Rows or points of a node: positions in the two arenas of a PairLists.
struct Members {
    size_t begin = 0;
    int64_t n = 0;
};

// Lists of members, one above the other. Shares (weights; parts of a category that takes both children) are kept only
// if there are some.
class PairLists {
  public:
    explicit PairLists(bool shared) : shared_(shared) {}

    bool shared() const { return shared_; }
    size_t top() const { return top_; }
    void cut(size_t top) { top_ = top; }
    uint32_t* index(size_t begin) { return index_.data() + begin; }
    double* share(size_t begin) { return share_.data() + begin; }

    Members reserve(int64_t n) {
        const Members members{top_, n};
        top_ += n;
        if (index_.size() < top_) {
            index_.resize(2 * top_);
            if (shared_) share_.resize(2 * top_);
        }
        return members;
    }

    double total(const Members& members) {
        if (!shared_) return static_cast<double>(members.n);
        const double* share = this->share(members.begin);
        return std::accumulate(share, share + members.n, 0.0);
    }

  private:
    bool shared_;
    size_t top_ = 0;
    std::vector<uint32_t> index_;
    std::vector<double> share_;
};

// Whether an unknown category can take both children somewhere.
inline bool may_take_both(const ForestView& forest, Unknown unknown) {
    if (unknown != Unknown::average) return false;
    for (int64_t node = 0; node < forest.n_nodes; ++node)
        if (forest.is_on_categories(node)) return true;
    return false;
}

// All of [begin, end), with their weights if lists keep shares.
inline Members whole(PairLists& lists, int64_t begin, int64_t end, const double* weight) {
    const Members members = lists.reserve(end - begin);
    std::iota(lists.index(members.begin), lists.index(members.begin) + members.n, static_cast<uint32_t>(begin));
    if (!lists.shared()) return members;
    if (weight != nullptr)
        std::copy(weight + begin, weight + end, lists.share(members.begin));
    else
        std::fill_n(lists.share(members.begin), members.n, 1.0);
    return members;
}

// Writes every member to both sides and moves on where it belongs: no branch to guess.
template <class SideOf>
inline void split(PairLists& lists, const Members& members, Members& left, Members& right, double left_share,
                  SideOf&& side_of) {
    const uint32_t* index = lists.index(members.begin);
    uint32_t *to_left = lists.index(left.begin), *to_right = lists.index(right.begin);
    left.n = right.n = 0;
    if (!lists.shared()) {
        for (int64_t i = 0; i < members.n; ++i) {
            const bool goes_left = side_of(index[i]) == Side::left;
            to_left[left.n] = to_right[right.n] = index[i];
            left.n += goes_left;
            right.n += !goes_left;
        }
        return;
    }
    const double* share = lists.share(members.begin);
    double *left_shares = lists.share(left.begin), *right_shares = lists.share(right.begin);
    for (int64_t i = 0; i < members.n; ++i) {
        const Side side = side_of(index[i]);
        to_left[left.n] = to_right[right.n] = index[i];
        left_shares[left.n] = side == Side::both ? share[i] * left_share : share[i];
        right_shares[right.n] = side == Side::both ? share[i] * (1 - left_share) : share[i];
        left.n += side != Side::right;
        right.n += side != Side::left;
    }
}

// Members that go left and right at a node, by the values of its column or by projections.
template <class Projected>
std::pair<Members, Members> divide(PairLists& lists, const ForestView& forest, int64_t node, int64_t start,
                                   const Members& members, const RawColumn& column, Unknown unknown,
                                   Projected&& projected) {
    Members left = lists.reserve(members.n), right = lists.reserve(members.n);
    const double threshold = forest.threshold[node];
    const bool missing_left = forest.missing_left[node] != 0;
    if (forest.is_oblique(node))
        split(lists, members, left, right, 0.0, [&](uint32_t at) { return side(projected(at) <= threshold); });
    else if (column.type == ValueType::float32)
        split(lists, members, left, right, 0.0,
              [&](uint32_t at) { return goes_numeric(column.at<float>(at), threshold, missing_left); });
    else if (column.type == ValueType::float64)
        split(lists, members, left, right, 0.0,
              [&](uint32_t at) { return goes_numeric(column.at<double>(at), threshold, missing_left); });
    else
        split(lists, members, left, right, forest.left_share(node, start),
              [&, condition = forest.condition(node)](uint32_t at) {
                  return goes(condition, column.at<int32_t>(at), unknown);
              });
    return {left, right};
}

}  // namespace arboretum
