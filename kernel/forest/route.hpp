// Where a row goes at a node: the one definition of routing. Compiled forms (codes, bit sets) are derived from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/types.hpp"

namespace arboretum {

enum class Side : uint8_t { left, right, both };

// What a category does that training never saw: take both children by their share of rows, or count as missing.
enum class Unknown : uint8_t { average, missing };

// Category codes travel as doubles, which hold every int32 exactly.
constexpr double missing_category = -1;
constexpr double unknown_category = -2;

// A condition in the user's units (types.hpp has the one in code space).
struct RawCondition {
    ConditionKind kind;
    bool missing_left;
    double threshold;
    const uint32_t* set;  // bits, where a set one goes left; or a rising list of the codes that go left
    int64_t set_words;
};

inline Side side(bool left) { return left ? Side::left : Side::right; }

inline Side goes_numeric(double value, double threshold, bool missing_left) {
    return side((value <= threshold) | (std::isnan(value) & missing_left));
}

inline Side goes_category(double value, const uint32_t* set, int64_t set_words, bool missing_left, Unknown unknown) {
    if (value == missing_category) return side(missing_left);
    int64_t code = static_cast<int64_t>(value);
    if (code < 0 || code >= 32 * set_words) return unknown == Unknown::average ? Side::both : side(missing_left);
    return side((set[code >> 5] >> (code & 31)) & 1);
}

// Categories of a list go left, all others right.
inline Side goes_listed(double value, const uint32_t* codes, int64_t n, bool missing_left, Unknown unknown) {
    if (value == missing_category) return side(missing_left);
    if (value < 0) return unknown == Unknown::average ? Side::both : side(missing_left);
    return side(std::binary_search(codes, codes + n, static_cast<uint32_t>(value)));
}

// One summand of an oblique condition: weight · value, with `fill` for a missing value.
struct ProjectionTerm {
    int32_t feature;
    double weight, fill;
};

// The sum that an oblique condition compares with its threshold; a sum that is NaN goes right. Training and prediction
// both add up here, in the order of the terms, so that they route a row alike to the last bit.
template <class ValueOf>
inline double project(std::span<const ProjectionTerm> terms, ValueOf&& value_of) {
    double sum = 0;
    for (const ProjectionTerm& term : terms) sum += term.weight * value_of(term);
    return sum;
}

inline Side goes(const RawCondition& node, double value, Unknown unknown) {
    if (node.kind == ConditionKind::category)
        return goes_category(value, node.set, node.set_words, node.missing_left, unknown);
    if (node.kind == ConditionKind::listed)
        return goes_listed(value, node.set, node.set_words, node.missing_left, unknown);
    return goes_numeric(value, node.threshold, node.missing_left);
}

}  // namespace arboretum
