// A tree as the walk of shap.hpp reads it: its edges in preorder, and what an edge multiplies.
//
//   edge      from a node to a child; it stands for the condition of the node and for its side
//   share     of the rows at the node that take the edge: training rows, or one row of a background (then 0 or 1)
//   z         product of the shares of this edge and of those above it on the same feature
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "explain/quadrature.hpp"
#include "forest/forest.hpp"

namespace arboretum {

struct ShapEdge {
    int64_t parent, child;  // nodes
    int32_t feature;        // place among the features that the forest reads
    int32_t depth;          // of the child; the root has 0
    int32_t previous;       // the nearest edge above on the same feature, −1 if none
    int32_t end;            // edges up to here lie below this one
    bool left, is_leaf;
};

struct ShapTree {
    std::vector<ShapEdge> edges;
    int64_t start = 0;  // first node
    int depth = 0;
    int most_features = 0;    // on a path
    bool is_oblique = false;  // some condition is: then conditions read more than the features of edges

    ShapTree() = default;
    ShapTree(const ForestView& forest, int64_t tree, const std::vector<int32_t>& place_of)
        : start(forest.tree_start[tree]) {
        std::vector<int32_t> path, distinct;  // edges above, by depth; features on the way to each edge
        std::vector<ShapEdge> open;
        auto push_children = [&](int64_t node, int32_t at) {
            if (forest.is_leaf(node)) return;
            is_oblique |= forest.is_oblique(node);
            const int32_t feature = place_of[forest.feature[node]];
            open.push_back({node, start + forest.right[node], feature, at + 1, -1, 0, false, false});
            open.push_back({node, start + forest.left[node], feature, at + 1, -1, 0, true, false});
        };
        auto cut_path = [&](int32_t length) {
            for (; static_cast<int32_t>(path.size()) > length; path.pop_back())
                edges[path.back()].end = static_cast<int32_t>(edges.size());
        };
        for (push_children(start, 0); !open.empty();) {
            ShapEdge edge = open.back();
            open.pop_back();
            cut_path(edge.depth - 1);
            for (int32_t above : path)
                if (edges[above].feature == edge.feature) edge.previous = above;
            edge.is_leaf = forest.is_leaf(edge.child);
            distinct.push_back((path.empty() ? 0 : distinct[path.back()]) + (edge.previous < 0));
            path.push_back(static_cast<int32_t>(edges.size()));
            edges.push_back(edge);
            depth = std::max(depth, edge.depth);
            most_features = std::max(most_features, distinct.back());
            push_children(edge.child, edge.depth);
        }
        cut_path(0);
    }
};

// What edges multiply at each point p of the quadrature, for rows that take the edge (o = 1) and all others (o = 0),
// with factor(o, z) = p·o + (1 − p)·z and weight(o, z) = (o − z) / factor(o, z):
//
//   taken     factor(1, z) / factor(1, z above)
//   left      factor(0, z) / factor(1, z above)          left here; a row that left above multiplies by the share
//   weight    weight(1, z); rows that left have weight_left = −1 / (1 − p) for any z
struct ShapTables {
    std::vector<double> share, z;             // by edge
    std::vector<double> taken, left, weight;  // edge × points
    std::vector<double> weight_left;          // by point

    void fill(const ShapTree& tree, const Quadrature& points) {
        const size_t n = points.at.size();
        z.resize(tree.edges.size());
        weight_left.clear();
        for (double p : points.at) weight_left.push_back(-1 / (1 - p));
        for (std::vector<double>* table : {&taken, &left, &weight}) table->resize(tree.edges.size() * n);
        for (size_t e = 0; e < tree.edges.size(); ++e) {
            const int32_t previous = tree.edges[e].previous;
            const double above = previous < 0 ? 1.0 : z[previous], here = z[e] = above * share[e];
            for (size_t k = 0; k < n; ++k) {
                const double p = points.at[k], q = 1 - p, factor = p + q * here, scale = 1 / (p + q * above);
                taken[e * n + k] = factor * scale;
                left[e * n + k] = q * here * scale;
                weight[e * n + k] = (1 - here) / factor;
            }
        }
    }
};

}  // namespace arboretum
