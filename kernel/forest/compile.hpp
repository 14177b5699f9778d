// A forest compiled for prediction. Every tree can be walked; most also have a program that finds the leaves of a block
// of rows at once.
//
//   walk      16-byte nodes, siblings adjacent, leaves point at themselves; the only form of oblique trees
//   select    up to 256 leaves, from the leaves up, all in bytes:
//                 leaf(node)[r] = code[r] <= k ? leaf(left child)[r] : leaf(right child)[r]
//   levels    a symmetric tree (one condition per level), from the root down:
//                 leaf[r] = 2 leaf[r] + (code[r] > k)
//
// Programs read codes, the rank of a value among the thresholds t₀ < t₁ < … of its feature:
//
//   code = #{i : tᵢ < x}        so        x ≤ tₖ  ⇔  code ≤ k
//
// A missing value has code 0 where it goes left and 255 where it goes right, hence two code lanes per feature. A rank
// must fit a byte: consecutive trees share a segment as long as no feature has more than 255 thresholds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/page_vector.hpp"
#include "forest/forest.hpp"
#include "forest/route.hpp"
#include "forest/slopes.hpp"

namespace arboretum {

constexpr uint32_t byte_leaves = 256;
constexpr size_t byte_thresholds = 255;
constexpr uint8_t missing_right_code = 255;
constexpr uint32_t no_set = UINT32_MAX;

// One node of a select program, or one level of a symmetric tree (which leaves the slots unused). Slots below
// byte_leaves hold the constants 0, 1, 2, …: a leaf is its own number.
struct Select {
    uint32_t lane;  // of codes, or of categories if there is a set
    uint32_t set;   // first word of the categories that go right, or no_set
    uint16_t left, right, out;
    uint8_t code;
};

struct SetRange {
    uint32_t start, words;
};

// Terms of an oblique condition in the pool of all terms; they name used features.
struct TermRange {
    uint32_t start, size;
};

// A walk reads a row of two numbers per used feature: the value with −inf for a missing one, and the value as it is. A
// missing value then goes left (−inf ≤ t) or right (NaN ≤ t is false) by the place that the node reads.
struct WalkNode {
    union {
        double threshold;
        SetRange set;
    };
    uint32_t left;  // the right child follows it; a leaf names itself
    // 2 × used feature + (a missing value goes right), and is_category, is_listed; or a projection and is_oblique
    uint32_t place;

    static constexpr uint32_t is_category = uint32_t{1} << 31, is_oblique = uint32_t{1} << 30,
                              is_listed = uint32_t{1} << 29;
    bool category() const { return (place & is_category) != 0; }
    bool oblique() const { return (place & is_oblique) != 0; }
    bool missing_left() const { return (place & 1) == 0; }
    bool listed() const { return (place & is_listed) != 0; }
    uint32_t used() const { return (place & ~(is_category | is_listed)) / 2; }
    uint32_t projection() const { return place & ~is_oblique; }
};
static_assert(sizeof(WalkNode) == 16);

struct UsedFeature {
    int32_t feature;
    bool is_category = false;
    uint32_t category_lane = 0;
    int32_t n_codes = 0;  // of its widest set or list; the next three codes are missing, unknown, and in no list
    int32_t known_codes = INT32_MAX;  // bits of its narrowest set
};

struct PackedTree {
    enum Form : uint8_t { walk, select, levels };
    Form form;
    int32_t output;
    uint32_t root, first_leaf, n_leaves;
    int64_t program_start, program_size;
};

// Thresholds of one feature in one segment, from `table` on, padded with +inf. Ranking counts how many of every fine-th
// threshold lie below a value, then halves steps of fine within the stretch found.
struct RankedFeature {
    uint32_t used;
    int32_t n_coarse, fine;
    int64_t table;
};

struct Segment {
    int64_t last_tree;
    std::vector<RankedFeature> features;  // feature i owns code lanes 2 i (missing left) and 2 i + 1 (missing right)
};

class CompiledForest {
  public:
    static constexpr int temporaries = 9;  // a tree of n leaves needs at most ⌈log₂ n⌉ (Sethi & Ullman 1970)

    // threads: to use; the result does not depend on it.
    CompiledForest(const ForestView& forest, int threads);

    RawCondition condition(const WalkNode& node) const {
        if (!node.category()) return {ConditionKind::numeric, node.missing_left(), node.threshold, nullptr, 0};
        return {node.listed() ? ConditionKind::listed : ConditionKind::category, node.missing_left(), 0,
                set_words.data() + node.set.start, node.set.words};
    }
    std::span<const SlopeTerm> slopes_of(uint32_t leaf) const {
        return std::span(slopes).subspan(slope_start[leaf], slope_start[leaf + 1] - slope_start[leaf]);
    }
    bool is_leaf(uint32_t position) const { return nodes[position].left == position; }

    // values: a row as a walk reads it. Missing values are filled.
    bool goes_left_projected(const WalkNode& node, const double* values) const {
        const TermRange range = projections[node.projection()];
        const std::span<const ProjectionTerm> summands(terms.data() + range.start, range.size);
        return project(summands, [values](const ProjectionTerm& term) {
                   const double value = values[2 * term.feature + 1];
                   return std::isnan(value) ? term.fill : value;
               }) <= node.threshold;
    }

    int64_t n_outputs, width;
    std::vector<double> base;  // output
    uint32_t n_category_lanes = 0;
    size_t n_code_lanes = 0;
    bool has_walks = false;         // some tree has no program
    std::vector<UsedFeature> used;  // by feature
    std::vector<PackedTree> trees;
    PageVector<WalkNode> nodes;
    PageVector<uint32_t> leaf_of;         // node → leaf
    PageVector<int32_t> leaf_node;        // leaf → node, counted from the start of its tree
    PageVector<double> leaf_value;        // leaf × width
    std::vector<int64_t> slope_start{0};  // leaf → its terms in `slopes`; only with linear leaves
    std::vector<SlopeTerm> slopes;        // they name columns of the schema
    PageVector<double> left_share;        // node → share of its rows that went left; only with category conditions
    std::vector<uint32_t> set_words;
    std::vector<TermRange> projections;
    std::vector<ProjectionTerm> terms;
    std::vector<Segment> segments;
    std::vector<Select> program;
    std::vector<uint32_t> right_sets;
    std::vector<double> table64;
    std::vector<float> table32;

  private:
    static constexpr int32_t most_coarse = 32;

    std::vector<uint32_t> index_of_;  // feature → place in `used`

    using Thresholds = std::vector<std::vector<double>>;  // sorted, one list per used feature
    using Numeric = std::pair<uint32_t, double>;          // used feature, threshold

    void find_features(const ForestView& forest, int threads);

    void find_categories(const ForestView& forest);

    void copy_terms(const ForestView& forest);

    uint32_t used_index(int32_t feature) const { return index_of_[feature]; }

    // Threads share the trees, unless these add to pools of terms.
    void lay_out_trees(const ForestView& forest, int threads);

    // Depth first, left before right: leaves are numbered from left to right, children come after their parent.
    void lay_out(const ForestView& forest, int64_t tree);

    void copy_slopes(const ForestView& forest, int64_t leaf);

    WalkNode pack(const ForestView& forest, int64_t node, uint32_t left);

    void build_segments();

    bool has_projections(const PackedTree& tree) const;

    std::vector<Numeric> numeric_conditions(const PackedTree& tree) const;

    static bool fits_a_byte(const std::vector<Numeric>& wanted, const Thresholds& thresholds);

    void close_segment(int64_t first, int64_t last, const Thresholds& thresholds);

    void write_program(PackedTree& tree, const Thresholds& thresholds, const std::vector<uint32_t>& lane);

    // Is the tree full, with one condition per level? Then levels holds a node of each.
    bool find_levels(const PackedTree& tree, std::vector<uint32_t>& levels) const;

    bool same_condition(const WalkNode& a, const WalkNode& b) const;

    // Children before parents; of two inner children the one that needs more temporaries comes first.
    void write_selects(const PackedTree& tree, const Thresholds& thresholds, const std::vector<uint32_t>& lane);

    Select translate(const WalkNode& node, const Thresholds& thresholds, const std::vector<uint32_t>& lane);

    // Bits of the codes that go right: categories of the feature, then missing, then unknown (as missing; rows whose
    // unknown categories are to be averaged never use a program), then categories beyond all sets and lists.
    uint32_t right_set(const WalkNode& node);
};

}  // namespace arboretum
