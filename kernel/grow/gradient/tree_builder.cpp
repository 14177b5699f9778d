#include "grow/gradient/tree_builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/midpoint.hpp"
#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "grow/grow.hpp"
#include "grow/left_table.hpp"

namespace arboretum {

namespace {

// The k items with the smallest draws, in rising order.
std::vector<int32_t> choose(const std::vector<int32_t>& items, double share, uint64_t key) {
    size_t k = static_cast<size_t>(std::llrint(share * static_cast<double>(items.size())));
    k = std::clamp<size_t>(k, 1, std::max<size_t>(items.size(), 1));
    if (k >= items.size()) return items;
    std::vector<int32_t> chosen = items;
    std::nth_element(chosen.begin(), chosen.begin() + k, chosen.end(), [&](int32_t a, int32_t b) {
        uint64_t da = draw(key, a), db = draw(key, b);
        return da != db ? da < db : a < b;
    });
    chosen.resize(k);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

}  // namespace

FeatureSelection select_tree_features(const BinnedData& data, const TreeParams& params, uint64_t seed) {
    std::vector<int32_t> all(data.n_features());
    std::iota(all.begin(), all.end(), 0);
    std::vector<uint8_t> wanted(all.size(), 0);
    for (int32_t f : choose(all, params.colsample_tree, draw(seed, 0x74726565))) wanted[f] = 1;  // "tree"
    return {data, std::move(wanted)};
}

TreeBuilder::TreeBuilder(const BinnedData& data, const LaneScale& scale, const TreeParams& params,
                         const FeatureSelection& selection, uint64_t seed, int threads, Workspace& space,
                         TreeRows& rows)
    : data_(data),
      scale_(scale),
      params_(params),
      seed_(seed),
      threads_(threads),
      space_(space),
      rows_(rows),
      selection_(selection),
      search_(data, scale, params, rows, threads) {
    size_t bytes = static_cast<size_t>(rows.histogram_bytes());
    if (bytes > space_.histogram_bytes) {  // the last tree had narrower lanes
        space_.histograms.clear();
        space_.histogram_bytes = bytes;
    }
    max_histograms_ = std::max<size_t>(4, histogram_budget / std::max<size_t>(space_.histogram_bytes, 1));
    for (size_t i = 0; i < space_.histograms.size(); ++i) free_slots_.push_back(static_cast<int>(i));
    double bins = static_cast<double>(data.n_total_bins()) / std::max(1, data.n_features());
    compact_rows_ = params.growth == Growth::symmetric ? 0 : static_cast<int64_t>(compact_share * bins);
    left_tables_.resize(threads);
    returned_.resize(threads);
}

GrownTree TreeBuilder::grow_from(int64_t n_rows, const WideSum& total) {
    tree_.nodes.push_back({.n_rows = n_rows});
    open_.push_back(Open{});
    open_[0].rows.end = n_rows;
    open_[0].total = total;
    grow(*this);
    return std::move(tree_);
}

void TreeBuilder::open() {
    Open& root = open_[0];
    root.rule = leaf_rule(params_);
    root.path = draw(seed_, 0x726f6f74);  // "root"
    root.interactions.assign(params_.interaction_sets.size(), 1);
    root.features = node_features(root);
    if (splittable(root)) evaluate_root(root);
    if (root.best.found()) queue_.insert(queue_key(0));
}

void TreeBuilder::partition() {
    if (params_.growth == Growth::symmetric) {
        const std::vector<uint8_t> seen = seen_codes_of_level();
        prepare_all(batch_, level_may_split(level_depth_ + 1));
        settle_shared(seen);
        return;
    }
    const bool last_of_level = params_.growth == Growth::level && static_cast<int64_t>(batch_.size()) == splits_left();
    prepare_all(batch_, !(last_of_level || splits_left() == 1));
}

void TreeBuilder::commit() {
    // Leaf-wise, only the best is split for certain; the others wait, prepared.
    if (params_.growth == Growth::leaf) batch_.resize(1);
    for (int32_t id : batch_) {
        if (params_.growth != Growth::symmetric) queue_.erase(queue_key(id));
        commit_node(id);
    }
    if (params_.growth == Growth::symmetric) ++level_depth_;
}

int TreeBuilder::take_slot() {
    if (free_slots_.empty()) {
        space_.histograms.push_back(std::make_unique_for_overwrite<std::byte[]>(space_.histogram_bytes));
        free_slots_.push_back(static_cast<int>(space_.histograms.size()) - 1);
    }
    int slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
}

void TreeBuilder::release(int& slot) {
    if (slot >= 0) free_slots_.push_back(slot);
    slot = -1;
}

std::vector<int32_t> TreeBuilder::node_features(const Open& node) const {
    std::vector<int32_t> features;
    for (int32_t f = 0; f < data_.n_features(); ++f)
        if (selection_.wanted[f] && allowed_together(node, f)) features.push_back(f);
    if (params_.colsample_level < 1)
        features = choose(features, params_.colsample_level, draw(seed_, 0x6c6576, node.depth));  // "lev"
    if (params_.max_features < 1)  // symmetric trees draw once per level
        features = choose(features, params_.max_features,
                          params_.growth == Growth::symmetric ? draw(seed_, 0x6e6f6465, node.depth) : node.path);
    return features;
}

bool TreeBuilder::allowed_together(const Open& node, int32_t feature) const {
    if (params_.interaction_sets.empty()) return true;
    for (size_t i = 0; i < node.interactions.size(); ++i)
        if (node.interactions[i] && in_set(i, feature)) return true;
    return false;
}

bool TreeBuilder::in_set(size_t i, int32_t feature) const {
    const std::vector<int32_t>& set = params_.interaction_sets[i];
    return std::find(set.begin(), set.end(), feature) != set.end();
}

bool TreeBuilder::splittable(const Open& node) const {
    return (params_.max_depth <= 0 || node.depth < params_.max_depth) &&
           node.n_rows() >= std::max<int64_t>(2, 2 * params_.min_samples_leaf) &&
           scale_.hessian_of(node.total) >= 2 * params_.min_child_weight && !node.features.empty();
}

NodeView TreeBuilder::view(const Open& node) const {
    return {node.rows,
            {node.total, node.n_rows(), node.rule},
            &node.features,
            histogram(node.slot),
            params_.growth == Growth::symmetric ? draw(seed_, 0x6e6f6973, level_depth_)  // "nois"
                                                : draw(node.path, 0x6e6f6973)};
}

void TreeBuilder::evaluate(Open& node, int worker, int threads) {
    node.best = search_.find(view(node), worker, threads);
    if (!node.best.found()) node.best.gain = -infinity;
}

void TreeBuilder::evaluate_root(Open& root) {
    if (!compact(root)) {
        root.slot = take_slot();
        build(root, root.slot, threads_);
    }
    if (params_.growth != Growth::symmetric) evaluate(root, 0, threads_);
}

void TreeBuilder::prepare(int32_t id, int spare, bool deeper, int worker, int threads) {
    Open& node = open_[id];
    Condition& condition = node.best.condition;
    std::vector<uint8_t>& left_table = left_tables_[worker];
    Code n_bins = data_.feature(condition.feature).n_bins;
    fill_left_table(condition, n_bins, left_table);
    int64_t n_left = rows_.partition(condition.feature, left_table, node.rows, threads);
    node.children = std::make_unique<std::array<Open, 2>>();
    Open& left = (*node.children)[0];
    Open& right = (*node.children)[1];
    const int64_t middle = node.rows.begin + n_left;
    left.rows = {1 - node.rows.buffer, node.rows.begin, middle};
    right.rows = {1 - node.rows.buffer, middle, node.rows.end};
    left.total = node.best.left;
    right.total = node.total - node.best.left;
    if (params_.growth != Growth::symmetric && 2 * n_left > node.n_rows()) {
        std::vector<uint8_t> seen = seen_codes(node);
        mark_seen(right, condition.feature, seen);
        send_absent_left(condition, seen);
    }
    left.path = draw(node.path, 1);
    right.path = draw(node.path, 2);
    inherit_rules(node, left, right);
    for (Open* child : {&left, &right}) {
        child->depth = node.depth + 1;
        child->features = node_features(*child);
    }
    if (deeper)
        prepare_candidates(node, spare, worker, threads);
    else
        release_later(spare, worker);
}

void TreeBuilder::send_absent_left(Condition& condition, const std::vector<uint8_t>& seen) const {
    Code n_bins = data_.feature(condition.feature).n_bins;
    if (!seen[n_bins]) condition.missing_left = true;
    if (condition.kind == ConditionKind::category)
        for (Code code = 0; code < n_bins; ++code)
            if (!seen[code]) condition.put(code);
}

void TreeBuilder::mark_seen(const Open& right, int32_t feature, std::vector<uint8_t>& seen) const {
    const FeatureCodes& info = data_.feature(feature);
    if (!info.categorical && (!info.has_missing || seen[info.n_bins])) return;
    mark_rows(right, feature, seen);
}

std::vector<uint8_t> TreeBuilder::seen_codes(const Open& node) const {
    int32_t feature = node.best.condition.feature;
    const FeatureCodes& info = data_.feature(feature);
    std::vector<uint8_t> seen(static_cast<size_t>(info.n_bins) + 1, 0);
    if (node.slot >= 0 && !node.stale) {
        for (size_t code = info.categorical ? 0 : info.n_bins; code < seen.size(); ++code)
            seen[code] = rows_.sum(histogram(node.slot), info.first_bin + static_cast<int64_t>(code)) != WideSum{};
    } else {
        mark_rows(node, feature, seen);
    }
    return seen;
}

void TreeBuilder::mark_rows(const Open& node, int32_t feature, std::vector<uint8_t>& seen) const {
    const RowNumbers numbers = rows_.numbers(node.rows);
    for (int64_t i = 0; i < numbers.size(); ++i) seen[data_.code(feature, numbers[i])] = 1;
}

void TreeBuilder::inherit_rules(const Open& node, Open& left, Open& right) const {
    left.rule = right.rule = node.rule;
    const int direction = params_.monotone.empty() ? 0 : params_.monotone[node.best.condition.feature];
    if (direction != 0) {
        auto value = [&](const WideSum& sum) {
            return node.rule.value(scale_.gradient_of(sum), scale_.hessian_of(sum));
        };
        part_bounds(direction, midpoint(value(left.total), value(right.total)), left.rule.bounds, right.rule.bounds);
    }
    left.interactions = right.interactions = node.interactions;
    for (size_t i = 0; i < node.interactions.size(); ++i)
        if (!in_set(i, node.best.condition.feature)) left.interactions[i] = right.interactions[i] = 0;
}

void TreeBuilder::prepare_candidates(Open& node, int spare, int worker, int threads) {
    bool symmetric = params_.growth == Growth::symmetric;
    Open& left = (*node.children)[0];
    Open& right = (*node.children)[1];
    Open& smaller = left.n_rows() <= right.n_rows() ? left : right;
    Open& larger = left.n_rows() <= right.n_rows() ? right : left;
    bool wanted_small = symmetric || splittable(smaller), wanted_large = symmetric || splittable(larger);
    bool dense_large = symmetric || (!compact(larger) && (wanted_large || (wanted_small && !compact(smaller))));
    if (dense_large) {
        if (node.stale) build(node, node.slot, threads);
        build(smaller, spare, threads);
        rows_.subtract(histogram(node.slot), histogram(spare));
        larger.slot = std::exchange(node.slot, -1);
        smaller.slot = std::exchange(spare, -1);
    }
    if (!symmetric) {
        if (wanted_small) evaluate(smaller, worker, threads);
        if (wanted_large) evaluate(larger, worker, threads);
    }
    for (Open* child : {&smaller, &larger})
        if (!symmetric && (!child->best.found() || compact(*child))) release_later(child->slot, worker);
    release_later(spare, worker);
    release_later(node.slot, worker);
}

void TreeBuilder::release_later(int& slot, int worker) {
    if (slot >= 0) returned_[worker].push_back(slot);
    slot = -1;
}

void TreeBuilder::collect_returned() {
    for (std::vector<int>& slots : returned_) {
        free_slots_.insert(free_slots_.end(), slots.begin(), slots.end());
        slots.clear();
    }
}

void TreeBuilder::prepare_all(const std::vector<int32_t>& ids, bool deeper) {
    std::vector<int32_t> small;
    for (int32_t id : ids) {
        if (open_[id].children != nullptr) continue;
        if (deeper && open_[id].slot < 0 && !compact(open_[id])) {
            open_[id].slot = take_slot();
            open_[id].stale = true;
        }
        if (large(open_[id]) || ids.size() == 1) {
            prepare(id, deeper ? take_slot() : -1, deeper, 0, threads_);
            collect_returned();
        } else {
            small.push_back(id);
        }
    }
    std::vector<int> spares(small.size(), -1);
    if (deeper)
        for (int& spare : spares) spare = take_slot();
    parallel_for(static_cast<int64_t>(small.size()), threads_,
                 [&](int64_t i, int worker) { prepare(small[i], spares[i], deeper, worker, 1); });
    collect_returned();
}

void TreeBuilder::commit_node(int32_t id) {
    std::vector<GrownNode>& nodes = tree_.nodes;
    std::unique_ptr<std::array<Open, 2>> children = std::move(open_[id].children);
    nodes[id].left = static_cast<int32_t>(nodes.size());
    nodes[id].right = nodes[id].left + 1;
    for (Open& child : *children) {
        nodes.push_back({.n_rows = child.n_rows()});
        open_.push_back(std::move(child));
        bool scarce = space_.histograms.size() - free_slots_.size() > max_histograms_;
        if (scarce && params_.growth != Growth::symmetric) release(open_.back().slot);
        if (open_.back().best.found() && params_.growth != Growth::symmetric)
            queue_.insert(queue_key(static_cast<int32_t>(nodes.size()) - 1));
    }
    tree_.put_condition(open_[id].best.condition, nodes[id]);
    nodes[id].gain = open_[id].best.gain;
    ++n_splits_;
}

int64_t TreeBuilder::splits_left() const {
    return params_.max_leaf_nodes <= 0 ? std::numeric_limits<int64_t>::max() : params_.max_leaf_nodes - 1 - n_splits_;
}

bool TreeBuilder::next_batch() {
    if (queue_.empty() || splits_left() <= 0) return false;
    batch_.clear();
    bool level = params_.growth == Growth::level;
    const Open& best = open_[queue_.begin()->id];
    bool alone = threads_ == 1 || best.children != nullptr || large(best);
    size_t most = level ? queue_.size() : alone ? 1 : 2 * static_cast<size_t>(threads_);
    most = static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(most), splits_left()));
    for (auto it = queue_.begin(); it != queue_.end() && batch_.size() < most; ++it) {
        if (it->depth != queue_.begin()->depth) break;
        const Open& node = open_[it->id];
        if (level || batch_.empty() || (node.children == nullptr && !large(node))) batch_.push_back(it->id);
    }
    return true;
}

bool TreeBuilder::level_may_split(int depth) const {
    int64_t leaves = int64_t{1} << depth;
    return (params_.max_depth <= 0 || depth < params_.max_depth) && depth < 30 &&
           (params_.max_leaf_nodes <= 0 || 2 * leaves <= params_.max_leaf_nodes);
}

bool TreeBuilder::next_level() {
    if (!level_may_split(level_depth_) || open_[0].stale || (level_depth_ == 0 && open_[0].slot < 0)) return false;
    batch_.resize(size_t{1} << level_depth_);
    std::iota(batch_.begin(), batch_.end(), static_cast<int32_t>(tree_.nodes.size() - batch_.size()));
    std::vector<NodeView> views;
    for (int32_t id : batch_) views.push_back(view(open_[id]));
    shared_ = search_.find_shared(views, threads_);
    if (!shared_.found() || !(shared_.gain > 0)) return false;
    for (int32_t id : batch_) give_shared(id);
    return true;
}

std::vector<uint8_t> TreeBuilder::seen_codes_of_level() const {
    std::vector<uint8_t> seen(data_.feature(shared_.condition.feature).n_bins + size_t{1}, 0);
    for (int32_t id : batch_) {
        const std::vector<uint8_t> codes = seen_codes(open_[id]);
        for (size_t c = 0; c < codes.size(); ++c) seen[c] |= codes[c];
    }
    return seen;
}

void TreeBuilder::settle_shared(std::vector<uint8_t> seen) {
    int64_t lefts = 0, rows = 0;
    for (int32_t id : batch_) {
        lefts += (*open_[id].children)[0].n_rows();
        rows += open_[id].n_rows();
    }
    if (2 * lefts > rows) {
        for (int32_t id : batch_) mark_seen((*open_[id].children)[1], shared_.condition.feature, seen);
        send_absent_left(shared_.condition, seen);
    }
    for (int32_t id : batch_) open_[id].best.condition = shared_.condition;
}

void TreeBuilder::give_shared(int32_t id) {
    Open& node = open_[id];
    const FeatureCodes& info = data_.feature(shared_.condition.feature);
    node.best = shared_;
    fill_left_table(shared_.condition, info.n_bins, left_tables_[0]);
    node.best.left = left_sum(node, info, left_tables_[0]);
    auto score = [&](const WideSum& s) { return node.rule.score(scale_.gradient_of(s), scale_.hessian_of(s)); };
    double gain = score(node.best.left) + score(node.total - node.best.left) - score(node.total);
    node.best.gain = std::max(0.0, 0.5 * gain);
}

WideSum TreeBuilder::left_sum(const Open& node, const FeatureCodes& info, const std::vector<uint8_t>& left) const {
    std::vector<WideSum> sums(left.size());
    rows_.add_sums(histogram(node.slot), info.first_bin, static_cast<int64_t>(sums.size()), sums.data());
    WideSum sum;
    for (size_t code = 0; code < left.size(); ++code)
        if (left[code]) sum += sums[code];
    return sum;
}

}  // namespace arboretum
