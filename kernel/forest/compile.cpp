#include "forest/compile.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/parallel.hpp"
#include "data/cut_search.hpp"

namespace arboretum {

namespace {

constexpr int64_t node_block = 1 << 15;  // nodes that are worth a thread

}  // namespace

CompiledForest::CompiledForest(const ForestView& forest, int threads)
    : n_outputs(forest.n_outputs),
      width(forest.width),
      base(forest.base, forest.base + forest.n_outputs),
      set_words(forest.set_words, forest.set_words + forest.set_start[forest.n_nodes]) {
    if (forest.n_nodes >= INT32_MAX || set_words.size() >= no_set)
        throw std::domain_error("the forest is too large to compile: predict with slices of it");
    find_features(forest, threads);
    copy_terms(forest);
    lay_out_trees(forest, threads);
    build_segments();
}

void CompiledForest::find_features(const ForestView& forest, int threads) {
    // Of each thread. Place 0 is that of leaves, whose feature is −1: asking each node whether it is one takes longer.
    std::vector<std::vector<uint8_t>> is_used(std::max(threads, 1));
    auto use = [](std::vector<uint8_t>& own, int32_t feature) {
        if (feature + 1 >= static_cast<int32_t>(own.size())) own.resize(feature + 2);
        own[feature + 1] = 1;
    };
    parallel_blocks(forest.n_nodes, node_block, threads, [&](int64_t begin, int64_t end, int worker) {
        for (int64_t node = begin; node < end; ++node) use(is_used[worker], forest.feature[node]);
    });
    std::vector<uint8_t>& all = is_used[0];
    for (const std::vector<uint8_t>& own : is_used)
        for (size_t place = 1; place < own.size(); ++place)
            if (own[place]) use(all, static_cast<int32_t>(place) - 1);
    if (forest.projection_start != nullptr)
        for (int64_t i = 0; i < forest.projection_start[forest.n_nodes]; ++i) use(all, forest.projection_feature[i]);
    if (forest.slope_start != nullptr)
        for (int64_t i = 0; i < forest.slope_start[forest.n_nodes]; ++i) use(all, forest.slope_feature[i]);
    for (size_t place = 1; place < all.size(); ++place) {
        index_of_.push_back(static_cast<uint32_t>(used.size()));
        if (all[place]) used.push_back({static_cast<int32_t>(place) - 1});
    }
    if (!set_words.empty()) find_categories(forest);
}

void CompiledForest::find_categories(const ForestView& forest) {
    for (int64_t node = 0; node < forest.n_nodes; ++node) {
        if (!forest.is_on_categories(node)) continue;
        const RawCondition rule = forest.condition(node);
        const bool listed = rule.kind == ConditionKind::listed;
        UsedFeature& category = used[used_index(forest.feature[node])];
        const int64_t codes = listed ? int64_t{rule.set[rule.set_words - 1]} + 1 : 32 * rule.set_words;
        if (codes > INT32_MAX - 3) throw std::domain_error("a category set is wider than the codes of int32");
        category.is_category = true;
        category.n_codes = std::max(category.n_codes, static_cast<int32_t>(codes));
        if (!listed) category.known_codes = std::min(category.known_codes, static_cast<int32_t>(codes));
    }
    for (UsedFeature& feature : used)
        if (feature.is_category) feature.category_lane = n_category_lanes++;
}

void CompiledForest::copy_terms(const ForestView& forest) {
    if (forest.projection_start == nullptr) return;
    const int64_t n = forest.projection_start[forest.n_nodes];
    if (n >= UINT32_MAX) throw std::domain_error("the forest has too many projections: predict with slices of it");
    for (int64_t i = 0; i < n; ++i)
        terms.push_back({static_cast<int32_t>(used_index(forest.projection_feature[i])), forest.projection_weight[i],
                         forest.projection_fill[i]});
}

void CompiledForest::lay_out_trees(const ForestView& forest, int threads) {
    nodes.resize(forest.n_nodes);
    leaf_of.resize(forest.n_nodes);
    if (n_category_lanes > 0) left_share.resize(forest.n_nodes);
    uint32_t n_leaves = 0;
    for (int64_t tree = 0; tree < forest.n_trees; ++tree) {
        const int64_t root = forest.tree_start[tree], size = forest.tree_start[tree + 1] - root;
        const auto leaves = static_cast<uint32_t>((size + 1) / 2);  // every other node has two children
        trees.push_back(
            {PackedTree::walk, forest.tree_output[tree], static_cast<uint32_t>(root), n_leaves, leaves, 0, 0});
        n_leaves += leaves;
    }
    leaf_node.resize(n_leaves);
    leaf_value.resize(n_leaves * width);
    const bool apart = forest.slope_start == nullptr && forest.projection_start == nullptr;
    const bool large = forest.n_nodes > node_block;
    parallel_for(forest.n_trees, apart && large ? threads : 1, [&](int64_t tree, int) { lay_out(forest, tree); });
}

void CompiledForest::lay_out(const ForestView& forest, int64_t tree) {
    const int64_t start = forest.tree_start[tree];
    const uint32_t root = trees[tree].root;
    uint32_t free = root + 1, leaf = trees[tree].first_leaf;
    std::vector<std::pair<int32_t, uint32_t>> open{{0, root}};
    while (!open.empty()) {
        auto [local, position] = open.back();
        open.pop_back();
        const int64_t node = start + local;
        if (forest.is_leaf(node)) {
            nodes[position] = {{infinity}, position, 0};
            leaf_of[position] = leaf;
            leaf_node[leaf] = local;
            std::copy_n(forest.value + node * width, width, leaf_value.data() + leaf * width);
            if (forest.slope_start != nullptr) copy_slopes(forest, node);
            ++leaf;
            continue;
        }
        nodes[position] = pack(forest, node, free);
        if (n_category_lanes > 0) left_share[position] = forest.left_share(node, start);
        open.push_back({forest.right[node], free + 1});
        open.push_back({forest.left[node], free});
        free += 2;
    }
}

void CompiledForest::copy_slopes(const ForestView& forest, int64_t leaf) {
    for (int64_t i = forest.slope_start[leaf]; i < forest.slope_start[leaf + 1]; ++i)
        slopes.push_back({forest.slope_feature[i], forest.slope_weight[i], forest.slope_centre[i], forest.slope_low[i],
                          forest.slope_high[i]});
    slope_start.push_back(static_cast<int64_t>(slopes.size()));
}

WalkNode CompiledForest::pack(const ForestView& forest, int64_t node, uint32_t left) {
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

void CompiledForest::build_segments() {
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

bool CompiledForest::has_projections(const PackedTree& tree) const {
    auto first = nodes.begin() + tree.root;
    return !projections.empty() &&
           std::any_of(first, first + (2 * tree.n_leaves - 1), [](const WalkNode& node) { return node.oblique(); });
}

std::vector<CompiledForest::Numeric> CompiledForest::numeric_conditions(const PackedTree& tree) const {
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

bool CompiledForest::fits_a_byte(const std::vector<Numeric>& wanted, const Thresholds& thresholds) {
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

void CompiledForest::close_segment(int64_t first, int64_t last, const Thresholds& thresholds) {
    Segment segment{last, {}};
    std::vector<uint32_t> lane(used.size());
    for (size_t i = 0; i < used.size(); ++i) {
        const std::vector<double>& list = thresholds[i];
        if (list.empty()) continue;
        lane[i] = static_cast<uint32_t>(2 * segment.features.size());
        int32_t size = static_cast<int32_t>(list.size()), fine = 1;
        while (size > most_coarse * fine) fine *= 2;
        int32_t n_coarse = (size + fine - 1) / fine;
        segment.features.push_back({static_cast<uint32_t>(i), n_coarse, fine, static_cast<int64_t>(table64.size())});
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

void CompiledForest::write_program(PackedTree& tree, const Thresholds& thresholds, const std::vector<uint32_t>& lane) {
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

bool CompiledForest::find_levels(const PackedTree& tree, std::vector<uint32_t>& levels) const {
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

bool CompiledForest::same_condition(const WalkNode& a, const WalkNode& b) const {
    if (a.place != b.place) return false;
    if (!a.category()) return a.threshold == b.threshold;
    const uint32_t* words = set_words.data();
    return std::equal(words + a.set.start, words + a.set.start + a.set.words, words + b.set.start,
                      words + b.set.start + b.set.words);
}

void CompiledForest::write_selects(const PackedTree& tree, const Thresholds& thresholds,
                                   const std::vector<uint32_t>& lane) {
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

Select CompiledForest::translate(const WalkNode& node, const Thresholds& thresholds,
                                 const std::vector<uint32_t>& lane) {
    if (node.category()) return {used[node.used()].category_lane, right_set(node), 0, 0, 0, 0};
    const std::vector<double>& list = thresholds[node.used()];
    auto code = std::lower_bound(list.begin(), list.end(), node.threshold) - list.begin();
    constexpr double missing = std::numeric_limits<double>::quiet_NaN();
    bool missing_right = goes(condition(node), missing, Unknown::missing) == Side::right;
    return {lane[node.used()] + missing_right, no_set, 0, 0, 0, static_cast<uint8_t>(code)};
}

uint32_t CompiledForest::right_set(const WalkNode& node) {
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
    if (right_sets.size() >= no_set) throw std::domain_error("the forest has too many category sets to compile");
    return static_cast<uint32_t>(start);
}

}  // namespace arboretum
