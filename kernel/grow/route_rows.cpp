#include "grow/route_rows.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "grow/left_table.hpp"

namespace arboretum {

namespace {

struct Step {
    uint8_t node, left, right, missing_left;
};

// target_clones cannot be put on a template.
#define ARBORETUM_STEP(C)                                                                                        \
    ARBORETUM_CLONES void step_rows(const C* codes, C threshold, C missing, Step step, int64_t n, uint8_t* at) { \
        ARBORETUM_INDEPENDENT                                                                                    \
        for (int64_t i = 0; i < n; ++i) {                                                                        \
            bool left = (codes[i] <= threshold) | ((codes[i] == missing) & (step.missing_left != 0));            \
            uint8_t next = left ? step.left : step.right;                                                        \
            at[i] = at[i] == step.node ? next : at[i];                                                           \
        }                                                                                                        \
    }
ARBORETUM_STEP(uint8_t)
ARBORETUM_STEP(uint16_t)
ARBORETUM_STEP(uint32_t)
#undef ARBORETUM_STEP

}  // namespace

uint32_t route_codes(const GrownTree& tree, const BinnedData& data, int64_t row, uint32_t from) {
    uint32_t id = from;
    while (!tree.nodes[id].is_leaf()) {
        const GrownNode& node = tree.nodes[id];
        const bool left = tree.goes_left(node, data.code(node.feature, row), data.feature(node.feature).n_bins);
        id = static_cast<uint32_t>(left ? node.left : node.right);
    }
    return id;
}

RowRouter::RowRouter(const GrownTree& tree, const BinnedData& data) : tree_(tree), data_(data) {
    if (!small()) return;
    left_tables_.resize(tree.nodes.size());
    std::vector<uint8_t> left;
    for (size_t id = 0; id < tree.nodes.size(); ++id) {
        const GrownNode& node = tree.nodes[id];
        if (node.is_leaf() || by_threshold(node)) continue;
        fill_left_table(tree.condition(node), data.feature(node.feature).n_bins, left);
        left_tables_[id] = data.feature(node.feature).bundle < 0 ? left : bundle_left_table(data, node.feature, left);
    }
}

void RowRouter::route_small(int64_t begin, int64_t end, uint8_t* leaves) const {
    std::fill_n(leaves, end - begin, uint8_t{0});
    for (size_t id = 0; id < tree_.nodes.size(); ++id)
        if (!tree_.nodes[id].is_leaf()) step(id, begin, end - begin, leaves);
    data_.forget(begin, end);
}

void RowRouter::route_all(int threads, uint32_t* leaves) const {
    parallel_blocks(data_.n_rows(), block, threads, [&](int64_t begin, int64_t end, int) {
        if (!small()) {
            for (int64_t row = begin; row < end; ++row) leaves[row] = route_codes(tree_, data_, row);
            return;
        }
        uint8_t at[block];
        route_small(begin, end, at);
        std::copy(at, at + (end - begin), leaves + begin);
    });
}

template <class C>
void RowRouter::step_on(const C* codes, size_t id, int64_t n, uint8_t* at) const {
    const GrownNode& node = tree_.nodes[id];
    Step step{static_cast<uint8_t>(id), static_cast<uint8_t>(node.left), static_cast<uint8_t>(node.right),
              node.missing_left};
    if (by_threshold(node)) {
        step_rows(codes, static_cast<C>(node.code), static_cast<C>(data_.feature(node.feature).n_bins), step, n, at);
        return;
    }
    const uint8_t* left = left_tables_[id].data();
    for (int64_t i = 0; i < n; ++i) {
        uint8_t next = left[codes[i]] ? step.left : step.right;
        at[i] = at[i] == step.node ? next : at[i];
    }
}

void RowRouter::step(size_t id, int64_t begin, int64_t n, uint8_t* at) const {
    data_.with_column(data_.stored_in(tree_.nodes[id].feature),
                      [&](const auto* column) { step_on(column + begin, id, n, at); });
}

void add_node_values(const GrownTree& tree, const BinnedData& data, const double* node_values, int threads,
                     double* raw) {
    RowRouter router(tree, data);
    parallel_blocks(data.n_rows(), RowRouter::block, threads, [&](int64_t begin, int64_t end, int) {
        if (!router.small()) {
            for (int64_t row = begin; row < end; ++row) raw[row] += node_values[route_codes(tree, data, row)];
            return;
        }
        uint8_t leaves[RowRouter::block];
        router.route_small(begin, end, leaves);
        for (int64_t row = begin; row < end; ++row) raw[row] += node_values[leaves[row - begin]];
    });
}

}  // namespace arboretum
