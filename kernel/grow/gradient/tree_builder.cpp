#include "grow/gradient/tree_builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/midpoint.hpp"
#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "base/spinning.hpp"
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
      search_(data, scale, params, rows, threads),
      returned_(threads),
      left_tables_(threads) {
    size_t bytes = static_cast<size_t>(rows.histogram_bytes());
    if (bytes > space_.histogram_bytes) {  // the last tree had narrower lanes
        space_.histograms.clear();
        space_.histogram_bytes = bytes;
    }
    max_histograms_ = std::max<size_t>(4, histogram_budget / std::max<size_t>(space_.histogram_bytes, 1));
    for (const auto& histogram : space_.histograms) free_histograms_.push_back(histogram.get());
    codes_per_row_ = data.codes_per_row();
    const double share = params.growth == Growth::symmetric ? 0 : compact_share;
    for (const Block& block : data.blocks())
        dense_rows_.push_back(static_cast<int64_t>(share * static_cast<double>(block.bins)));
    double bins = 0;
    for (int32_t f = 0; f < data.n_features(); ++f) bins += data.feature(f).n_bins + 1.0;
    bins_per_feature_ = bins / std::max(1, data.n_features());
    if (data.is_listed() && share > 0)  // all blocks alike
        std::ranges::fill(dense_rows_, static_cast<int64_t>(listed_share / std::max(1.0, codes_per_row_) * bins));
}

GrownTree TreeBuilder::grow_from(const RowRange& rows, const WideSum& total) {
    tree_.nodes.push_back({.n_rows = rows.size()});
    open_.push_back(Open{});
    open_[0].rows = rows;
    open_[0].total = total;
    grow(*this);
    return std::move(tree_);
}

void TreeBuilder::open() {
    Open& root = open_[0];
    root.rule = leaf_rule(params_);
    root.path = draw(seed_, 0x726f6f74);  // "root"
    root.interactions.assign(params_.interaction_sets.size(), 1);
    root.features = root_features_ = node_features(root);
    if (splittable(root)) evaluate_root(root);
    await(0);
}

void TreeBuilder::partition() {
    if (params_.growth == Growth::symmetric) {
        const std::vector<uint8_t> seen = seen_codes_of_level();
        prepare_batch(level_may_split(level_depth_ + 1));
        settle_shared(seen);
        return;
    }
    const bool last_of_level = params_.growth == Growth::level && static_cast<int64_t>(batch_.size()) == splits_left();
    const bool deeper = !(last_of_level || splits_left() == 1);
    auto must_ask = [&](int32_t id) { return open_[id].children == nullptr && open_[id].rows.afar(); };
    while (const auto n = std::count_if(batch_.begin(), batch_.end(), must_ask))
        ask_ahead(std::min(static_cast<size_t>(n), histograms_at_once()), deeper);
    prepare_batch(deeper);
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

TreeRows::Bins* TreeBuilder::take_histogram() {
    if (free_histograms_.empty()) {
        space_.histograms.push_back(std::make_unique_for_overwrite<std::byte[]>(space_.histogram_bytes));
        return space_.histograms.back().get();
    }
    TreeRows::Bins* bins = free_histograms_.back();
    free_histograms_.pop_back();
    return bins;
}

void TreeBuilder::release(TreeRows::Bins*& bins) {
    if (bins != nullptr) free_histograms_.push_back(bins);
    bins = nullptr;
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

void TreeBuilder::count_rows(Open& node) const {
    node.listed_rows.assign(data_.n_features(), 0);
    if (node.bins == nullptr) return rows_.count_listed(node.rows, node.listed_rows);
    const uint32_t* rows = rows_.rows_by_bin(node.bins);
    for (int32_t f = 0; f < data_.n_features(); ++f)
        node.listed_rows[f] = static_cast<int32_t>(node.n_rows() - rows[data_.default_bin(f)]);
}

void TreeBuilder::count_children(Open& node) const {
    auto& [left, right] = *node.children;
    Open& smaller = left.n_rows() <= right.n_rows() ? left : right;
    Open& larger = left.n_rows() <= right.n_rows() ? right : left;
    count_rows(smaller);
    larger.listed_rows = std::exchange(node.listed_rows, {});
    for (int32_t f = 0; f < data_.n_features(); ++f) larger.listed_rows[f] -= smaller.listed_rows[f];
    leave_out_rare(left);
    leave_out_rare(right);
}

void TreeBuilder::leave_out_rare(Open& node) const {
    const int64_t least = std::max<int64_t>(params_.min_samples_leaf, 1);
    std::erase_if(node.features, [&](int32_t f) { return node.listed_rows[f] < least; });
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

bool TreeBuilder::may_split(int depth, const WideSum& total) const {
    return (params_.max_depth <= 0 || depth < params_.max_depth) &&
           scale_.hessian_of(total) >= 2 * params_.min_child_weight;
}

bool TreeBuilder::splittable(const Open& node) const {
    return may_split(node.depth, node.total) && node.n_rows() >= std::max<int64_t>(2, 2 * params_.min_samples_leaf) &&
           !features_of(node).empty();
}

NodeView TreeBuilder::view(const Open& node) const {
    return {node.rows,
            {node.total, node.n_rows(), node.rule},
            &features_of(node),
            node.bins,
            node.bins == nullptr ? 0 : n_dense(node),
            params_.growth == Growth::symmetric ? draw(seed_, 0x6e6f6973, level_depth_)  // "nois"
                                                : draw(node.path, 0x6e6f6973)};
}

void TreeBuilder::evaluate(std::span<Open* const> nodes, int worker, int threads) {
    std::array<SplitSearch::Searched, 2> searched;
    size_t n = 0;
    for (Open* node : nodes) {
        node->waiting = node->rows.afar() && node->bins == nullptr;
        if (!node->waiting) searched[n++] = {view(*node), &node->contest};
    }
    search_.search({searched.data(), n}, worker, threads);
    parallel_for(static_cast<int64_t>(nodes.size()), threads, [&](int64_t i, int inner) {
        Open& node = *nodes[i];
        if (node.waiting) return;
        node.best = search_.decide(view(node), node.contest, threads > 1 ? inner : worker);
        node.waiting = !node.contest.uncounted.empty();
        if (node.waiting) return;
        node.contest = {};
        if (!node.best.found()) node.best.gain = -infinity;
    });
}

void TreeBuilder::evaluate_root(Open& root) {
    if (!compact(root)) {
        root.bins = take_histogram();
        rows_.build(root.rows, root.bins, n_dense(root), threads_);
    }
    if (counts_listed()) {
        count_rows(root);
        leave_out_rare(root);
    }
    Open* const nodes[] = {&root};
    if (params_.growth != Growth::symmetric) evaluate(nodes, 0, threads_);
}

TreeRows::Bins* TreeBuilder::take_spare(Open& node, bool deeper) {
    if (!deeper) return nullptr;
    if (lost_histogram(node)) {
        node.bins = take_histogram();
        node.stale = true;
    }
    return take_histogram();
}

void TreeBuilder::prepare(Open& node, TreeRows::Bins* spare, bool deeper, int worker, int threads) {
    Condition& condition = node.best.condition;
    std::vector<uint8_t>& left_table = left_tables_[worker];
    Code n_bins = data_.feature(condition.feature).n_bins;
    fill_left_table(condition, n_bins, left_table);
    const std::array<RowRange, 2> sides = rows_.partition(condition.feature, left_table, node.rows, threads);
    node.children = std::make_unique<std::array<Open, 2>>();
    Open& left = (*node.children)[0];
    Open& right = (*node.children)[1];
    left.rows = sides[0];
    right.rows = sides[1];
    left.total = node.best.left;
    right.total = node.total - node.best.left;
    const bool absent_left = params_.growth != Growth::symmetric && 2 * left.n_rows() > node.n_rows();
    if (const FeatureCodes& info = data_.feature(condition.feature); !info.categorical && !info.has_missing) {
        condition.missing_left |= absent_left;
    } else if (absent_left) {
        std::vector<uint8_t> seen = seen_codes(node);
        mark_seen(right, condition.feature, seen);
        send_absent_left(condition, seen);
    }
    left.path = draw(node.path, 1);
    right.path = draw(node.path, 2);
    inherit_rules(node, left, right);
    for (Open* child : {&left, &right}) {
        child->depth = node.depth + 1;
        if (!shares_features()) child->features = inherits_features() ? node.features : node_features(*child);
    }
    if (counts_listed()) count_children(node);
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
    rows_.mark_right(right.rows, feature, seen);
}

std::vector<uint8_t> TreeBuilder::seen_codes(const Open& node) const {
    int32_t feature = node.best.condition.feature;
    const FeatureCodes& info = data_.feature(feature);
    std::vector<uint8_t> seen(static_cast<size_t>(info.n_bins) + 1, 0);
    const bool is_dense =
        node.bins != nullptr && !node.stale && data_.feature(data_.stored_in(feature)).block < n_dense(node);
    if (!is_dense) return seen;
    for (size_t code = info.categorical ? 0 : info.n_bins; code < seen.size(); ++code)
        seen[code] = rows_.sum(node.bins, info.first_bin + static_cast<int64_t>(code)) != WideSum{};
    return seen;
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

void TreeBuilder::prepare_candidates(Open& node, TreeRows::Bins* spare, int worker, int threads) {
    const bool symmetric = params_.growth == Growth::symmetric;
    Open& left = (*node.children)[0];
    Open& right = (*node.children)[1];
    Open& smaller = sums_left(node) ? left : right;
    Open& larger = sums_left(node) ? right : left;
    const bool wanted_small = symmetric || splittable(smaller), wanted_large = symmetric || splittable(larger);
    int32_t dense_small = wanted_small && !compact(smaller) ? n_dense(smaller) : 0;
    int32_t dense_large = wanted_large && !compact(larger) ? n_dense(larger) : 0;
    if (node.rows.afar()) dense_small = dense_large = std::max(dense_small, dense_large);
    auto sum_small = [&] {
        if (dense_small == 0) return;
        rows_.build(smaller.rows, spare, dense_small, threads);
        smaller.bins = std::exchange(spare, nullptr);
    };
    auto sum_large = [&] {
        if (dense_large == 0 || node.bins == nullptr) return;
        if (node.stale) rows_.build(node.rows, node.bins, dense_large, threads);
        hand_down(node, smaller, dense_small, dense_large);
        larger.bins = std::exchange(node.bins, nullptr);
    };
    if (counts_listed()) {
        parallel_for(2, threads, [&](int64_t i, int) { i == 0 ? sum_small() : sum_large(); });
    } else {
        sum_small();
        sum_large();
    }
    if (!symmetric) {
        std::array<Open*, 2> wanted;
        size_t n = 0;
        if (wanted_small) wanted[n++] = &smaller;
        if (wanted_large) wanted[n++] = &larger;
        evaluate({wanted.data(), n}, worker, threads);
        for (Open* child : {&smaller, &larger}) release_unneeded(*child, worker);
    }
    release_later(spare, worker);
    release_later(node.bins, worker);
}

void TreeBuilder::hand_down(const Open& node, const Open& smaller, int32_t dense_small, int32_t dense_large) {
    TreeRows::Bins* bins = node.bins;
    if (data_.is_listed() && params_.growth != Growth::symmetric) return rows_.subtract_listed(bins, smaller.rows);
    const int32_t summed = std::min(dense_small, dense_large);
    if (summed > 0) rows_.subtract(bins, smaller.bins, summed);
    if (summed < dense_large) rows_.subtract_rows(bins, smaller.rows, summed, dense_large);
}

void TreeBuilder::release_unneeded(Open& child, int worker) {
    if (!child.waiting && (!child.best.found() || compact(child))) release_later(child.bins, worker);
}

void TreeBuilder::release_later(TreeRows::Bins*& bins, int worker) {
    if (bins != nullptr) returned_[worker].push_back(bins);
    bins = nullptr;
}

void TreeBuilder::collect_returned(int worker) {
    std::vector<TreeRows::Bins*>& returned = returned_[worker];
    free_histograms_.insert(free_histograms_.end(), returned.begin(), returned.end());
    returned.clear();
}

bool TreeBuilder::sums_left(const Open& node) const {
    const Open &left = (*node.children)[0], &right = (*node.children)[1];
    return node.rows.afar() ? left.total.hessian <= right.total.hessian : left.n_rows() <= right.n_rows();
}

void TreeBuilder::fetch(std::span<Open* const> nodes, bool deeper, std::span<Open* const> waiting) {
    std::vector<RowRequest> requests;
    for (Open* node : nodes) {
        if (node->children != nullptr || !node->rows.afar()) continue;
        if (compact(*node) || rows_.share_of_histogram(node->rows) <= 1) {
            requests.push_back({RowRequest::Kind::send, &node->rows});
            continue;
        }
        if (deeper && lost_histogram(*node)) requests.push_back({RowRequest::Kind::build, &node->rows});
        requests.push_back(partition_request(*node, deeper));
    }
    for (Open* node : waiting) {
        if (node->bins == nullptr) requests.push_back({RowRequest::Kind::send, &node->rows});
        for (int32_t feature : node->contest.uncounted)
            requests.push_back({RowRequest::Kind::count, &node->rows, feature});
    }
    if (!requests.empty()) rows_.fetch(requests);
}

RowRequest TreeBuilder::partition_request(Open& node, bool deeper) const {
    const Condition& condition = node.best.condition;
    const FeatureCodes& info = data_.feature(condition.feature);
    const WideSum &left = node.best.left, right = node.total - left;
    RowRequest request{RowRequest::Kind::partition, &node.rows, condition.feature, condition};
    const bool any =
        params_.growth == Growth::symmetric || may_split(node.depth + 1, left) || may_split(node.depth + 1, right);
    if (deeper && any) request.summed = left.hessian <= right.hessian ? RowRequest::left : RowRequest::right;
    request.count_right = info.categorical || (info.has_missing && !condition.missing_left);
    return request;
}

void TreeBuilder::resume(std::span<Open* const> waiting) {
    parallel_for(static_cast<int64_t>(waiting.size()), threads_, [&](int64_t i, int worker) {
        evaluate(waiting.subspan(i, 1), worker, 1);
        release_unneeded(*waiting[i], worker);
    });
    collect_returned();
}

void TreeBuilder::ask_ahead(size_t least, bool deeper) {
    std::vector<Prospect> prospects;
    for (const QueueKey& key : queue_) add_prospects(open_[key.id], infinity, prospects);
    for (int32_t id : undecided_) add_prospects(open_[id], infinity, prospects);
    std::stable_sort(prospects.begin(), prospects.end(), [](const Prospect& a, const Prospect& b) {
        return a.depth != b.depth ? a.depth < b.depth : a.gain > b.gain;
    });
    std::vector<Open*> waiting;
    for (const Prospect& prospect : prospects)
        if (prospect.node->waiting) waiting.push_back(prospect.node);
    std::vector<Open*> ahead = worth_fetching(prospects, least);
    fetch(ahead, deeper, waiting);
    std::erase_if(ahead, [](const Open* node) { return !node->rows.afar(); });  // those sent are prepared in their turn
    prepare_all(ahead, deeper);
    resume(waiting);
    for (int32_t id : std::exchange(undecided_, {})) await(id);
}

void TreeBuilder::add_prospects(Open& node, double gain, std::vector<Prospect>& prospects) {
    if (!node.waiting && !node.best.found()) return;
    const bool leafwise = params_.growth == Growth::leaf;
    gain = std::min(leafwise ? gain : infinity, node.waiting ? highest_gain(node) : node.best.gain);
    prospects.push_back({leafwise ? 0 : node.depth, gain, &node});
    if (node.children == nullptr) return;
    for (Open& child : *node.children) add_prospects(child, gain, prospects);
}

std::vector<TreeBuilder::Open*> TreeBuilder::worth_fetching(const std::vector<Prospect>& prospects,
                                                            size_t least) const {
    const double limit = params_.max_leaf_nodes > 0 ? fetch_share * params_.max_leaf_nodes : infinity;
    const double unused =
        static_cast<double>(max_histograms_) - static_cast<double>(space_.histograms.size() - free_histograms_.size());
    const double room =
        std::min({limit - rows_.histograms_fetched(), unused, static_cast<double>(histograms_at_once())});
    const double fall = params_.growth == Growth::leaf ? fall_of_gains : 0;  // level by level, none overtakes
    std::vector<Open*> nodes;
    double fetched = 0, before = 0, open = 0, gains = 0;  // open: prospects before that may have others below them
    for (const auto& [depth, gain, node] : prospects) {
        const double splits = before + fall * (gains / gain - open);
        if (nodes.size() >= least && splits >= static_cast<double>(splits_left())) break;
        ++before;
        if (node->children != nullptr) continue;
        if (gain < infinity) {
            ++open;
            gains += gain;
        }
        if (node->waiting || !node->rows.afar()) continue;
        fetched += std::min(1.0, rows_.share_of_histogram(node->rows));
        if (nodes.size() >= least && fetched > room) break;
        nodes.push_back(node);
    }
    return nodes;
}

double TreeBuilder::highest_gain(const Open& node) {
    if (node.contest.bests.empty()) return infinity;
    double highest = -infinity;
    for (const FeatureBest& best : node.contest.bests) highest = std::max(highest, best.gain);
    return highest;
}

bool TreeBuilder::may_be_overtaken() const {
    return std::any_of(undecided_.begin(), undecided_.end(), [&](int32_t id) {
        if (queue_.empty()) return true;
        const QueueKey& best = *queue_.begin();
        if (params_.growth == Growth::level) return open_[id].depth <= best.depth;
        return QueueKey{0, highest_gain(open_[id]), id} < best;
    });
}

void TreeBuilder::prepare_batch(bool deeper) {
    std::vector<Open*> nodes;
    for (int32_t id : batch_)
        if (open_[id].children == nullptr) nodes.push_back(&open_[id]);
    for (size_t begin = 0; begin < nodes.size(); begin += histograms_at_once()) {
        const size_t n = std::min(histograms_at_once(), nodes.size() - begin);
        const std::span<Open* const> some = std::span(nodes).subspan(begin, n);
        fetch(some, deeper, {});
        prepare_all(some, deeper);
    }
}

void TreeBuilder::prepare_all(std::span<Open* const> nodes, bool deeper) {
    std::vector<Open*> small;
    for (Open* node : nodes) {
        if (large(*node) || nodes.size() == 1) {
            prepare(*node, take_spare(*node, deeper), deeper, 0, threads_);
            collect_returned();
        } else {
            small.push_back(node);
        }
    }
    // The largest first, so that no thread begins one when the others have finished.
    std::stable_sort(small.begin(), small.end(),
                     [](const Open* a, const Open* b) { return a->n_rows() > b->n_rows(); });
    std::vector<TreeRows::Bins*> spares;
    for (Open* node : small) spares.push_back(take_spare(*node, deeper));
    parallel_for(static_cast<int64_t>(small.size()), threads_,
                 [&](int64_t i, int worker) { prepare(*small[i], spares[i], deeper, worker, 1); });
    collect_returned();
}

std::vector<std::pair<int32_t, uint32_t>> TreeBuilder::part_nodes(const GrownTree& tree) const {
    std::vector<std::pair<int32_t, uint32_t>> found;
    auto add = [&](auto&& self, const Open& node, uint32_t id) -> void {
        if (node.rows.part_node < 0) return;
        if (node.children == nullptr || (*node.children)[0].rows.part_node < 0)
            found.emplace_back(node.rows.part_node, id);
        else
            for (const Open& child : *node.children) self(self, child, id);
    };
    for (uint32_t id = 0; id < tree.nodes.size(); ++id) {
        const GrownNode& node = tree.nodes[id];
        if (node.is_leaf() || open_[node.left].rows.part_node < 0) add(add, open_[id], id);
    }
    return found;
}

void TreeBuilder::commit_node(int32_t id) {
    std::vector<GrownNode>& nodes = tree_.nodes;
    std::unique_ptr<std::array<Open, 2>> children = std::move(open_[id].children);
    nodes[id].left = static_cast<int32_t>(nodes.size());
    nodes[id].right = nodes[id].left + 1;
    for (Open& child : *children) {
        nodes.push_back({.n_rows = child.n_rows()});
        open_.push_back(std::move(child));
        bool scarce = space_.histograms.size() - free_histograms_.size() > max_histograms_;
        if (params_.growth == Growth::symmetric) continue;
        if (scarce && !open_.back().waiting) release(open_.back().bins);
        await(static_cast<int32_t>(nodes.size()) - 1);
    }
    tree_.put_condition(open_[id].best.condition, nodes[id]);
    nodes[id].gain = open_[id].best.gain;
    ++n_splits_;
}

void TreeBuilder::await(int32_t id) {
    if (open_[id].waiting)
        undecided_.insert(id);
    else if (open_[id].best.found())
        queue_.insert(queue_key(id));
}

int64_t TreeBuilder::splits_left() const {
    return params_.max_leaf_nodes <= 0 ? std::numeric_limits<int64_t>::max() : params_.max_leaf_nodes - 1 - n_splits_;
}

bool TreeBuilder::next_batch() {
    for (bool small = true; small && splits_left() > 0;) {
        while (may_be_overtaken()) ask_ahead(0, splits_left() > 1);
        small = begins_small();
        if (small) split_small();
    }
    if (queue_.empty() || splits_left() <= 0) return false;
    const int64_t most = params_.growth == Growth::level ? splits_left() : 1;
    batch_.clear();
    for (auto it = queue_.begin(); it != queue_.end() && static_cast<int64_t>(batch_.size()) < most; ++it) {
        if (it->depth != queue_.begin()->depth) break;
        batch_.push_back(it->id);
    }
    return true;
}

// Nodes that wait for rows elsewhere might overtake the best one after any split.
bool TreeBuilder::begins_small() const {
    return threads_ > 1 && params_.growth == Growth::leaf && undecided_.empty() && !queue_.empty() &&
           is_small(open_[queue_.begin()->id]);
}

struct TreeBuilder::Shared {
    SpinLock lock;  // of all that is not of one node in work
    Changes changes;
    int n_workers = 1;
    bool over = false;
};

void TreeBuilder::split_small() {
    Shared shared;
    shared.n_workers = std::min(threads_, small_workers);
    parallel_for(shared.n_workers, shared.n_workers, [&](int64_t, int worker) { split_small(shared, worker); });
}

void TreeBuilder::split_small(Shared& shared, int worker) {
    std::unique_lock<SpinLock> lock(shared.lock);
    try {
        for (commit_prepared(shared); !shared.over; commit_prepared(shared)) {
            const uint32_t seen = shared.changes.count();
            Open* node = next_small(shared.n_workers);
            if (node == nullptr) {
                lock.unlock();
                shared.changes.wait(seen);
                lock.lock();
                continue;
            }
            const bool deeper = splits_left() > 1;
            TreeRows::Bins* spare = take_spare(*node, deeper);
            node->in_work = true;
            lock.unlock();
            prepare(*node, spare, deeper, worker, 1);
            lock.lock();
            node->in_work = false;
            collect_returned(worker);
            shared.changes.add();
        }
    } catch (...) {  // nobody may wait for what will never come
        if (!lock.owns_lock()) lock.lock();
        shared.over = true;
        shared.changes.add();
        throw;
    }
}

void TreeBuilder::commit_prepared(Shared& shared) {
    bool changed = false;
    while (!shared.over) {
        shared.over = queue_.empty() || splits_left() <= 0 || !undecided_.empty();
        if (shared.over) break;
        const int32_t id = queue_.begin()->id;
        if (!open_[id].is_prepared()) {
            shared.over = open_[id].is_untouched() && !is_small(open_[id]);
            break;
        }
        queue_.erase(queue_.begin());
        commit_node(id);
        changed = true;
    }
    if (changed || shared.over) shared.changes.add();
}

TreeBuilder::Open* TreeBuilder::next_small(int n_workers) {
    int64_t rest = std::min(splits_left(), look_ahead * n_workers);
    for (auto it = queue_.begin(); it != queue_.end() && rest > 0; ++it, --rest)
        if (Open& node = open_[it->id]; node.is_untouched() && is_small(node)) return &node;
    return nullptr;
}

bool TreeBuilder::level_may_split(int depth) const {
    int64_t leaves = int64_t{1} << depth;
    return (params_.max_depth <= 0 || depth < params_.max_depth) && depth < 30 &&
           (params_.max_leaf_nodes <= 0 || 2 * leaves <= params_.max_leaf_nodes);
}

bool TreeBuilder::next_level() {
    if (!level_may_split(level_depth_) || open_[0].stale || (level_depth_ == 0 && open_[0].bins == nullptr))
        return false;
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
    rows_.add_sums(node.bins, info.first_bin, static_cast<int64_t>(sums.size()), sums.data());
    WideSum sum;
    for (size_t code = 0; code < left.size(); ++code)
        if (left[code]) sum += sums[code];
    return sum;
}

}  // namespace arboretum
