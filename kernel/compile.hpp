// A forest compiled for prediction. Every tree can be walked; most also have a program that finds the leaves
// of a block of rows at once.
//
//   walk     16-byte nodes, siblings adjacent, leaves pointing at themselves; trees with oblique conditions have no
//   other select   up to 256 leaves, from the leaves up, all in bytes:
//                leaf(node)[r] = code[r] <= k ? leaf(left child)[r] : leaf(right child)[r]
//   levels   a symmetric tree (one condition a level), from the root down:  leaf[r] = 2 leaf[r] + (code[r] >
//   k)
//
// Programs read codes, the rank of a value among the thresholds t₀ < t₁ < … of its feature:
//     code = #{i : tᵢ < x}        so        x ≤ tₖ  ⇔  code ≤ k
// A missing value has code 0 where it goes left and 255 where it goes right, hence two code lanes a feature.
// A rank must fit a byte: consecutive trees share a segment as long as no feature has more than 255
// thresholds.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "binning.hpp"
#include "route.hpp"
#include "slopes.hpp"

namespace arboretum {

// The arrays of forest.py, already validated.
struct ForestView {
    int64_t n_trees, n_nodes, n_outputs, width;
    const int64_t* tree_start;
    const int32_t* tree_output;
    const uint8_t* kind;
    const int32_t* feature;
    const double* threshold;
    const int32_t *left, *right;
    const uint8_t* missing_left;
    const int64_t* set_start;
    const uint32_t* set_words;
    const double* value;
    const int64_t* n_rows;
    const double* base;
    const int64_t* projection_start;  // null without oblique conditions, as the three below
    const int32_t* projection_feature;
    const double *projection_weight, *projection_fill;
    const int64_t* slope_start;  // null without linear leaves, as the five below
    const int32_t* slope_feature;
    const double *slope_weight, *slope_centre, *slope_low, *slope_high;

    RawCondition condition(int64_t node) const {
        return {static_cast<ConditionKind>(kind[node]), missing_left[node] != 0, threshold[node],
                set_words + set_start[node], set_start[node + 1] - set_start[node]};
    }
};

constexpr uint32_t byte_leaves = 256;
constexpr size_t byte_thresholds = 255;
constexpr uint8_t missing_right_code = 255;
constexpr uint32_t no_set = UINT32_MAX;

// One node of a select program, or one level of a symmetric tree (which leaves the slots unused). Slots below
// byte_leaves hold the constants 0, 1, 2, …: a leaf is its own number.
struct Select {
    uint32_t lane;  // of codes; with a set, of categories
    uint32_t set;   // first word of the categories that go right, or no_set
    uint16_t left, right, out;
    uint8_t code;
};

struct SetRange {
    uint32_t start, words;
};

// Terms of an oblique condition, of a pool; they name used features.
struct TermRange {
    uint32_t start, size;
};

// A walk reads a row of two numbers a used feature: the value with −inf for a missing one, and the value as
// it is. A missing value then goes left (−inf ≤ t) or right (NaN ≤ t is false) by the place that the node
// reads.
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

// Thresholds of one feature in one segment, from `table` on, padded with +inf. Ranking counts how many of
// every fine-th threshold lie below a value, then halves steps of fine within the stretch found.
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

    explicit CompiledForest(const ForestView& forest)
        : n_outputs(forest.n_outputs),
          width(forest.width),
          base(forest.base, forest.base + forest.n_outputs),
          set_words(forest.set_words, forest.set_words + forest.set_start[forest.n_nodes]) {
        if (forest.n_nodes >= INT32_MAX || set_words.size() >= no_set)
            throw std::length_error("the forest is too large to compile: predict with slices of it");
        find_features(forest);
        copy_terms(forest);
        nodes.resize(forest.n_nodes);
        leaf_of.resize(forest.n_nodes);
        if (n_category_lanes > 0) left_share.resize(forest.n_nodes);
        for (int64_t tree = 0; tree < forest.n_trees; ++tree) lay_out(forest, tree);
        build_segments();
    }

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
    std::vector<WalkNode> nodes;
    std::vector<uint32_t> leaf_of;        // node → leaf
    std::vector<int32_t> leaf_node;       // leaf → node, counted from the start of its tree
    std::vector<double> leaf_value;       // leaf × width
    std::vector<int64_t> slope_start{0};  // leaf → its terms in `slopes`; only with linear leaves
    std::vector<SlopeTerm> slopes;        // they name columns of the schema
    std::vector<double> left_share;       // node → share of its rows that went left; only with category conditions
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

    using Thresholds = std::vector<std::vector<double>>;  // sorted, one list a used feature
    using Numeric = std::pair<uint32_t, double>;          // used feature, threshold

    void find_features(const ForestView& forest) {
        std::vector<uint8_t> is_used;
        auto use = [&](int32_t feature) {
            if (feature >= static_cast<int32_t>(is_used.size())) is_used.resize(feature + 1);
            is_used[feature] = 1;
        };
        for (int64_t node = 0; node < forest.n_nodes; ++node)
            if (forest.condition(node).kind != ConditionKind::leaf) use(forest.feature[node]);
        if (forest.projection_start != nullptr)
            for (int64_t i = 0; i < forest.projection_start[forest.n_nodes]; ++i) use(forest.projection_feature[i]);
        if (forest.slope_start != nullptr)
            for (int64_t i = 0; i < forest.slope_start[forest.n_nodes]; ++i) use(forest.slope_feature[i]);
        index_of_.resize(is_used.size());
        for (size_t feature = 0; feature < is_used.size(); ++feature) {
            index_of_[feature] = static_cast<uint32_t>(used.size());
            if (is_used[feature]) used.push_back({static_cast<int32_t>(feature)});
        }
        for (int64_t node = 0; node < forest.n_nodes; ++node) {
            const RawCondition rule = forest.condition(node);
            const bool listed = rule.kind == ConditionKind::listed;
            if (rule.kind != ConditionKind::category && !listed) continue;
            UsedFeature& category = used[used_index(forest.feature[node])];
            const int64_t codes = listed ? int64_t{rule.set[rule.set_words - 1]} + 1 : 32 * rule.set_words;
            if (codes > INT32_MAX - 3) throw std::length_error("a category set is wider than the codes of int32");
            category.is_category = true;
            category.n_codes = std::max(category.n_codes, static_cast<int32_t>(codes));
            if (!listed) category.known_codes = std::min(category.known_codes, static_cast<int32_t>(codes));
        }
        for (UsedFeature& feature : used)
            if (feature.is_category) feature.category_lane = n_category_lanes++;
    }

    void copy_terms(const ForestView& forest) {
        if (forest.projection_start == nullptr) return;
        const int64_t n = forest.projection_start[forest.n_nodes];
        if (n >= UINT32_MAX) throw std::length_error("the forest has too many projections: predict with slices of it");
        for (int64_t i = 0; i < n; ++i)
            terms.push_back({static_cast<int32_t>(used_index(forest.projection_feature[i])),
                             forest.projection_weight[i], forest.projection_fill[i]});
    }

    uint32_t used_index(int32_t feature) const { return index_of_[feature]; }

    // Depth first, left before right: leaves are numbered from left to right, children come after their
    // parent.
    void lay_out(const ForestView& forest, int64_t tree) {
        int64_t start = forest.tree_start[tree];
        uint32_t root = static_cast<uint32_t>(start), free = root + 1;
        uint32_t first_leaf = static_cast<uint32_t>(leaf_node.size());
        std::vector<std::pair<int32_t, uint32_t>> open{{0, root}};
        while (!open.empty()) {
            auto [local, position] = open.back();
            open.pop_back();
            int64_t node = start + local;
            if (forest.condition(node).kind == ConditionKind::leaf) {
                nodes[position] = {{infinity}, position, 0};
                leaf_of[position] = static_cast<uint32_t>(leaf_node.size());
                leaf_node.push_back(local);
                leaf_value.insert(leaf_value.end(), forest.value + node * width, forest.value + (node + 1) * width);
                if (forest.slope_start != nullptr) copy_slopes(forest, node);
                continue;
            }
            nodes[position] = pack(forest, node, free);
            if (n_category_lanes > 0) {
                double left = static_cast<double>(forest.n_rows[start + forest.left[node]]);
                double both = left + static_cast<double>(forest.n_rows[start + forest.right[node]]);
                left_share[position] = both > 0 ? left / both : 0.5;
            }
            open.push_back({forest.right[node], free + 1});
            open.push_back({forest.left[node], free});
            free += 2;
        }
        uint32_t n_leaves = static_cast<uint32_t>(leaf_node.size()) - first_leaf;
        trees.push_back({PackedTree::walk, forest.tree_output[tree], root, first_leaf, n_leaves, 0, 0});
    }

    void copy_slopes(const ForestView& forest, int64_t leaf) {
        for (int64_t i = forest.slope_start[leaf]; i < forest.slope_start[leaf + 1]; ++i)
            slopes.push_back({forest.slope_feature[i], forest.slope_weight[i], forest.slope_centre[i],
                              forest.slope_low[i], forest.slope_high[i]});
        slope_start.push_back(static_cast<int64_t>(slopes.size()));
    }

    WalkNode pack(const ForestView& forest, int64_t node, uint32_t left) {
        RawCondition rule = forest.condition(node);
        if (rule.kind == ConditionKind::oblique) {
            const int64_t* start = forest.projection_start + node;
            projections.push_back({static_cast<uint32_t>(start[0]), static_cast<uint32_t>(start[1] - start[0])});
            return {{rule.threshold}, left, static_cast<uint32_t>(projections.size() - 1) | WalkNode::is_oblique};
        }
        uint32_t place = 2 * used_index(forest.feature[node]) + !rule.missing_left;
        if (rule.kind == ConditionKind::numeric) return {{rule.threshold}, left, place};
        const uint32_t form = rule.kind == ConditionKind::listed ? WalkNode::is_listed : 0;
        WalkNode packed{{0}, left, place | WalkNode::is_category | form};
        packed.set = {static_cast<uint32_t>(forest.set_start[node]), static_cast<uint32_t>(rule.set_words)};
        return packed;
    }

    void build_segments() {
        const Thresholds none(used.size());
        Thresholds thresholds = none;
        int64_t first = 0, n_trees = static_cast<int64_t>(trees.size());
        for (int64_t t = 0; t < n_trees; ++t) {
            PackedTree& tree = trees[t];
            const bool small = tree.n_leaves <= byte_leaves && !has_projections(tree);
            std::vector<Numeric> wanted = small ? numeric_conditions(tree) : std::vector<Numeric>{};
            const bool fits = small && fits_a_byte(wanted, none);
            tree.form = fits ? PackedTree::select : PackedTree::walk;
            has_walks |= !fits;
            if (!fits) continue;
            if (!fits_a_byte(wanted, thresholds)) {
                close_segment(first, t, thresholds);
                first = t;
                thresholds = none;
            }
            for (auto [feature, threshold] : wanted) {
                std::vector<double>& list = thresholds[feature];
                auto at = std::lower_bound(list.begin(), list.end(), threshold);
                if (at == list.end() || *at != threshold) list.insert(at, threshold);
            }
        }
        close_segment(first, n_trees, thresholds);
    }

    bool has_projections(const PackedTree& tree) const {
        auto first = nodes.begin() + tree.root;
        return !projections.empty() &&
               std::any_of(first, first + (2 * tree.n_leaves - 1), [](const WalkNode& node) { return node.oblique(); });
    }

    std::vector<Numeric> numeric_conditions(const PackedTree& tree) const {
        std::vector<Numeric> found;
        for (uint32_t i = 0; i < 2 * tree.n_leaves - 1; ++i) {
            const WalkNode& node = nodes[tree.root + i];
            if (!node.category() && !node.oblique() && !is_leaf(tree.root + i))
                found.push_back({node.used(), node.threshold});
        }
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return found;
    }

    static bool fits_a_byte(const std::vector<Numeric>& wanted, const Thresholds& thresholds) {
        size_t fresh = 0;
        for (size_t i = 0; i < wanted.size(); ++i) {
            auto [feature, threshold] = wanted[i];
            const std::vector<double>& list = thresholds[feature];
            if (i == 0 || wanted[i - 1].first != feature) fresh = 0;
            fresh += !std::binary_search(list.begin(), list.end(), threshold);
            if (list.size() + fresh > byte_thresholds) return false;
        }
        return true;
    }

    void close_segment(int64_t first, int64_t last, const Thresholds& thresholds) {
        Segment segment{last, {}};
        std::vector<uint32_t> lane(used.size());
        for (size_t i = 0; i < used.size(); ++i) {
            const std::vector<double>& list = thresholds[i];
            if (list.empty()) continue;
            lane[i] = static_cast<uint32_t>(2 * segment.features.size());
            int32_t size = static_cast<int32_t>(list.size()), fine = 1;
            while (size > most_coarse * fine) fine *= 2;
            int32_t n_coarse = (size + fine - 1) / fine;
            segment.features.push_back(
                {static_cast<uint32_t>(i), n_coarse, fine, static_cast<int64_t>(table64.size())});
            size_t end = table64.size() + (n_coarse + 1) * fine;
            table64.insert(table64.end(), list.begin(), list.end());
            table64.resize(end, infinity);
        }
        for (size_t i = table32.size(); i < table64.size(); ++i) table32.push_back(round_down<float>(table64[i]));
        n_code_lanes = std::max(n_code_lanes, 2 * segment.features.size());
        for (int64_t t = first; t < last; ++t)
            if (trees[t].form != PackedTree::walk) write_program(trees[t], thresholds, lane);
        segments.push_back(std::move(segment));
    }

    void write_program(PackedTree& tree, const Thresholds& thresholds, const std::vector<uint32_t>& lane) {
        std::vector<uint32_t> levels;
        bool symmetric = find_levels(tree, levels);
        tree.form = symmetric ? PackedTree::levels : PackedTree::select;
        tree.program_start = static_cast<int64_t>(program.size());
        if (symmetric)
            for (uint32_t position : levels) program.push_back(translate(nodes[position], thresholds, lane));
        else
            write_selects(tree, thresholds, lane);
        tree.program_size = static_cast<int64_t>(program.size()) - tree.program_start;
    }

    // Is the tree full, with one condition a level? Then levels holds a node of each.
    bool find_levels(const PackedTree& tree, std::vector<uint32_t>& levels) const {
        std::vector<uint32_t> level{tree.root}, next;
        for (; !is_leaf(level.front()); level.swap(next)) {
            next.clear();
            for (uint32_t position : level) {
                if (is_leaf(position) || !same_condition(nodes[position], nodes[level.front()])) return false;
                next.insert(next.end(), {nodes[position].left, nodes[position].left + 1});
            }
            levels.push_back(level.front());
        }
        return std::all_of(level.begin(), level.end(), [&](uint32_t position) { return is_leaf(position); });
    }

    bool same_condition(const WalkNode& a, const WalkNode& b) const {
        if (a.place != b.place) return false;
        if (!a.category()) return a.threshold == b.threshold;
        const uint32_t* words = set_words.data();
        return std::equal(words + a.set.start, words + a.set.start + a.set.words, words + b.set.start,
                          words + b.set.start + b.set.words);
    }

    // Children before parents; of two inner children the one that needs more temporaries comes first.
    void write_selects(const PackedTree& tree, const Thresholds& thresholds, const std::vector<uint32_t>& lane) {
        std::vector<uint16_t> needs(2 * tree.n_leaves - 1);
        for (uint32_t i = 2 * tree.n_leaves - 1; i-- > 0;) {
            if (is_leaf(tree.root + i)) continue;
            uint32_t child = nodes[tree.root + i].left - tree.root;
            uint16_t left = needs[child], right = needs[child + 1];
            needs[i] = std::max<uint16_t>({1, left, right, static_cast<uint16_t>(left == right ? left + 1 : 0)});
        }
        assert(needs[0] <= temporaries);
        struct Visit {
            uint32_t position;
            uint16_t slot;
            bool children_done;
        };
        std::vector<Visit> open{{tree.root, byte_leaves, false}};
        while (!open.empty()) {
            auto [position, slot, children_done] = open.back();
            open.pop_back();
            const uint32_t child = nodes[position].left;
            bool leaf[2] = {is_leaf(child), is_leaf(child + 1)};
            int first = needs[child + 1 - tree.root] > needs[child - tree.root];
            uint16_t slots[2];
            slots[first] = slot;
            slots[1 - first] = static_cast<uint16_t>(slot + !leaf[first]);
            if (children_done) {
                Select node = translate(nodes[position], thresholds, lane);
                for (int side = 0; side < 2; ++side)
                    if (leaf[side]) slots[side] = static_cast<uint16_t>(leaf_of[child + side] - tree.first_leaf);
                node.left = slots[0], node.right = slots[1], node.out = slot;
                program.push_back(node);
                continue;
            }
            open.push_back({position, slot, true});
            for (int side : {1 - first, first})
                if (!leaf[side]) open.push_back({child + side, slots[side], false});
        }
    }

    Select translate(const WalkNode& node, const Thresholds& thresholds, const std::vector<uint32_t>& lane) {
        if (node.category()) return {used[node.used()].category_lane, right_set(node), 0, 0, 0, 0};
        const std::vector<double>& list = thresholds[node.used()];
        auto code = std::lower_bound(list.begin(), list.end(), node.threshold) - list.begin();
        constexpr double missing = std::numeric_limits<double>::quiet_NaN();
        bool missing_right = goes(condition(node), missing, Unknown::missing) == Side::right;
        return {lane[node.used()] + missing_right, no_set, 0, 0, 0, static_cast<uint8_t>(code)};
    }

    // Bits of the codes that go right: categories of the feature, then missing, then unknown (as missing; rows whose
    // unknown categories are to be averaged never use a program), then categories beyond all sets and lists.
    uint32_t right_set(const WalkNode& node) {
        RawCondition rule = condition(node);
        int32_t n_codes = used[node.used()].n_codes;
        size_t start = right_sets.size();
        right_sets.resize(start + (n_codes + 3 + 31) / 32);
        for (int32_t code = 0; code < n_codes + 3; ++code) {
            const double specials[] = {missing_category, unknown_category, static_cast<double>(INT32_MAX)};
            const double category = code < n_codes ? code : specials[code - n_codes];
            bool right = goes(rule, category, Unknown::missing) == Side::right;
            right_sets[start + code / 32] |= uint32_t{right} << (code % 32);
        }
        if (right_sets.size() >= no_set) throw std::length_error("the forest has too many category sets to compile");
        return static_cast<uint32_t>(start);
    }
};

}  // namespace arboretum
