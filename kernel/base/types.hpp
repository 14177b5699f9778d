// The nouns of the kernel.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace arboretum {

using Row = uint32_t;
using Code = uint32_t;

enum class Growth : int { leaf, level, symmetric };
// category: one bit per category; listed: the codes of some categories, for nodes that know few of many.
enum class ConditionKind : uint8_t { leaf = 0, numeric = 1, category = 2, oblique = 3, listed = 4 };

constexpr double infinity = std::numeric_limits<double>::infinity();

// What a tree may look like. Python's frozen TreeParams is packed into this once per fit.
struct TreeParams {
    Growth growth = Growth::leaf;
    int max_leaf_nodes = 31;  // <= 0: no limit
    int max_depth = 0;        // <= 0: no limit
    int64_t min_samples_leaf = 20;
    double min_child_weight = 1e-3;
    double l1 = 0.0;
    double l2 = 0.0;
    double min_gain = 0.0;
    bool cosine = false;          // cuts of a symmetric level are compared by cosine instead of gain
    double score_noise = 0.0;     // standard deviation of the noise that is added to scores, in their units
    double max_delta_step = 0.0;  // <= 0: no limit
    double max_features = 1.0;    // share of the tree's features that each node may look at
    double colsample_level = 1.0;
    double colsample_tree = 1.0;
    int max_onehot = 4;  // categories up to which each one is tried against the rest
    int max_category_set = 32;
    double category_smoothing = 10.0;
    double category_l2 = 10.0;
    std::vector<int8_t> monotone;                        // per feature; empty: none
    std::vector<std::vector<int32_t>> interaction_sets;  // features that may meet on a path; empty: all
    std::vector<std::vector<Code>> category_ranks;       // per feature and code; empty: codes

    // Breaks ties between categories by their values, since codes depend on how often they occur. Missing is last.
    Code category_rank(int32_t feature, Code code) const {
        if (category_ranks.empty() || code >= category_ranks[feature].size()) return code;
        return category_ranks[feature][code];
    }
};

// A condition in code space. numeric: code <= threshold goes left; category: a set bit goes left.
struct Condition {
    ConditionKind kind = ConditionKind::leaf;
    bool missing_left = false;
    int32_t feature = -1;
    Code threshold = 0;
    std::vector<uint32_t> set;  // bits over category codes

    bool has(Code code) const { return code / 32 < set.size() && ((set[code / 32] >> (code % 32)) & 1u) != 0; }
    void put(Code code) { set[code / 32] |= 1u << (code % 32); }

    // Codes of the set, rising.
    std::vector<Code> codes() const {
        std::vector<Code> found;
        for (size_t word = 0; word < set.size(); ++word)
            for (uint32_t bits = set[word]; bits != 0; bits &= bits - 1)
                found.push_back(static_cast<Code>(32 * word) + std::countr_zero(bits));
        return found;
    }

    // The one reading of a condition in code space; n_bins is the feature's missing code.
    bool goes_left(Code code, Code n_bins) const {
        if (code == n_bins) return missing_left;
        return kind == ConditionKind::numeric ? code <= threshold : has(code);
    }
};

}  // namespace arboretum
