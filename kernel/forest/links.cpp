#include "forest/links.hpp"

#include <algorithm>
#include <vector>

#include "base/parallel.hpp"

namespace arboretum {

namespace {

using Broken = std::pair<LinkRule, int64_t>;

Broken broken_at(bool is_leaf, int32_t child, int64_t local, int64_t size, LinkRule at_leaf, int64_t node) {
    const int first = static_cast<int>(at_leaf);
    if (is_leaf) return child == -1 ? Broken{LinkRule::all_kept, node} : Broken{at_leaf, node};
    if (child <= local) return {static_cast<LinkRule>(first + 1), node};
    if (child >= size) return {static_cast<LinkRule>(first + 2), node};
    return {LinkRule::all_kept, node};
}

// Without a branch on leaves, which are every other node: nearly all trees are sound.
bool is_sound(const ForestView& forest, int64_t tree) {
    const int64_t start = forest.tree_start[tree], size = forest.tree_start[tree + 1] - start;
    const uint8_t* kind = forest.kind + start;
    const int32_t *left = forest.left + start, *right = forest.right + start;
    bool sound = true;
    for (int64_t i = 0; i < size; ++i) {
        const bool at_leaf = (left[i] == -1) & (right[i] == -1);
        const bool inside = (left[i] > i) & (right[i] > i) & (left[i] < size) & (right[i] < size);
        sound &= kind[i] == 0 ? at_leaf : inside;
    }
    if (!sound) return false;
    std::vector<uint32_t> parents(size + 1);  // place 0 is of what leaves name
    for (int64_t i = 0; i < size; ++i) ++parents[left[i] + 1], ++parents[right[i] + 1];
    return parents[1] == 0 && std::all_of(parents.begin() + 2, parents.end(), [](uint32_t n) { return n == 1; });
}

Broken first_broken(const ForestView& forest, int64_t tree) {
    if (is_sound(forest, tree)) return {LinkRule::all_kept, 0};
    const int64_t start = forest.tree_start[tree], size = forest.tree_start[tree + 1] - start;
    Broken first{LinkRule::all_kept, 0};
    for (int64_t node = start; node < start + size; ++node) {
        const bool leaf = forest.is_leaf(node);
        first = std::min(first, broken_at(leaf, forest.left[node], node - start, size, LinkRule::left_at_leaf, node));
        first = std::min(first, broken_at(leaf, forest.right[node], node - start, size, LinkRule::right_at_leaf, node));
    }
    if (first.first != LinkRule::all_kept) return first;
    std::vector<uint8_t> parents(size);  // up to two
    for (int64_t node = start; node < start + size; ++node) {
        if (forest.is_leaf(node)) continue;
        if (forest.left[node] == forest.right[node]) first = std::min(first, {LinkRule::two_children, node});
        for (int32_t child : {forest.left[node], forest.right[node]})
            parents[child] = static_cast<uint8_t>(std::min(parents[child] + 1, 2));
    }
    for (int64_t local = 0; local < size; ++local) {
        if (parents[local] == 2) first = std::min(first, {LinkRule::one_parent, start + local});
        if (parents[local] == 0 && local > 0) first = std::min(first, {LinkRule::some_parent, start + local});
    }
    return first;
}

}  // namespace

std::pair<LinkRule, int64_t> first_broken_link(const ForestView& forest, int threads) {
    std::vector<Broken> of_tree(forest.n_trees);
    parallel_for(forest.n_trees, threads, [&](int64_t tree, int) { of_tree[tree] = first_broken(forest, tree); });
    return of_tree.empty() ? Broken{LinkRule::all_kept, 0} : *std::min_element(of_tree.begin(), of_tree.end());
}

}  // namespace arboretum
