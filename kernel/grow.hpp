// The one growth loop.
//
//   open the root
//   while the policy names nodes to split:
//       prepare them        rows to children, histograms (smaller child summed, larger by subtraction), candidates
//       commit them         children get numbers and join the open nodes
//
// The policy is an order and a batch:  leaf = the open node of largest gain;  level = all of the least depth;
// symmetric = all of the level, with the one condition that gains most over them together.
//
// Preparing does not change the tree, so `leaf` prepares the next-best nodes too when nodes are small: threads then
// work on different nodes instead of meeting at barriers inside one. What is committed, and in which order, stays that
// of strict best-first growth, for any number of threads.
#pragma once

#include <array>
#include <memory>
#include <set>

#include "buffer.hpp"
#include "partition.hpp"
#include "search.hpp"

namespace arboretum {

struct GrownNode {
    Condition condition;
    int32_t left = -1, right = -1, parent = -1;
    int32_t depth = 0;
    int64_t n_rows = 0;
    double gain = 0;
    WideSum sum;            // exact, in wide units
    bool inherits = false;  // too few rows or hessians for a value of its own (symmetric trees): takes its parent's
    bool is_leaf() const { return left < 0; }
};

struct GrownTree {
    std::vector<GrownNode> nodes;
    LaneScale wide;
    bool packed = true;
};

// Memory that lives as long as a fit, so that a tree allocates nothing large.
struct Workspace {
    std::array<Buffer, 2> entries;  // rows in leaf order: a node's lie in one of the two, its children's in the other
    Buffer flags;                   // a byte a row
    std::vector<std::unique_ptr<std::byte[]>> histograms;
    size_t histogram_bytes = 0;  // of each
    Buffer leaf_of_row;
};

template <class Layout>
class TreeBuilder {
  public:
    using Sum = typename Layout::Sum;

    TreeBuilder(const BinnedData& data, const LaneScale& scale, const TreeParams& params, uint64_t seed, int threads,
                Workspace& space)
        : data_(data),
          scale_(scale),
          params_(params),
          seed_(seed),
          threads_(threads),
          space_(space),
          selection_(data, sample_tree_features()),
          builder_(data, selection_, threads),
          search_(data, scale, params, threads) {
        size_t bytes = sizeof(Sum) * static_cast<size_t>(data.n_total_bins());
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

    // entries: the root's rows in space.entries[0].
    GrownTree grow(int64_t n_rows, const WideSum& total) {
        nodes_.push_back({});
        nodes_[0].n_rows = n_rows;
        open_.push_back(Open{});
        Open& root = open_[0];
        root.end = n_rows;
        root.total = total;
        root.rule = leaf_rule(params_);
        root.path = draw(seed_, 0x726f6f74);  // "root"
        root.interactions.assign(params_.interaction_sets.size(), 1);
        root.features = node_features(root, 0);
        if (splittable(root, 0)) evaluate_root(root);
        if (root.best.found()) queue_.insert(queue_key(0));
        if (params_.growth == Growth::symmetric)
            while (grow_level()) {
            }
        else
            while (grow_batch()) {
            }
        return {std::move(nodes_), {}, true};
    }

    // Calls visit(node, entries, n) for every leaf.
    template <class Visit>
    void for_each_leaf(const GrownTree& tree, Visit&& visit) const {
        for (size_t id = 0; id < tree.nodes.size(); ++id)
            if (tree.nodes[id].is_leaf())
                visit(static_cast<uint32_t>(id), entries(open_[id].buffer) + open_[id].begin,
                      open_[id].end - open_[id].begin);
    }

  private:
    static constexpr size_t histogram_budget = size_t{2} << 30;
    static constexpr double compact_share = 0.35;            // of the bins a feature: nodes with fewer rows are compact
    static constexpr int64_t large_node = int64_t{1} << 19;  // rows × features from which threads share a node

    // A node of the frontier; index = node number. Children that are prepared but not committed wait in `children`.
    struct Open {
        int64_t begin = 0, end = 0;
        int buffer = 0;
        int slot = -1;       // of its histogram
        bool stale = false;  // the slot is taken, its histogram must be summed again
        WideSum total;
        LeafRule rule;
        uint64_t path = 0;
        std::vector<uint8_t> interactions;  // interaction sets that still hold all features of the path
        std::vector<int32_t> features;
        Candidate best;
        std::unique_ptr<std::array<Open, 2>> children;

        int64_t n_rows() const { return end - begin; }
    };

    Entry<Layout>* entries(int buffer) const { return space_.entries[buffer].template get<Entry<Layout>>(); }

    // ---- histograms ----------------------------------------------------------------------------------------------

    int take_slot() {
        if (free_slots_.empty()) {
            space_.histograms.emplace_back(new std::byte[space_.histogram_bytes]);
            free_slots_.push_back(static_cast<int>(space_.histograms.size()) - 1);
        }
        int slot = free_slots_.back();
        free_slots_.pop_back();
        return slot;
    }

    void release(int& slot) {
        if (slot >= 0) free_slots_.push_back(slot);
        slot = -1;
    }

    Sum* histogram(int slot) const {
        return slot < 0 ? nullptr : reinterpret_cast<Sum*>(space_.histograms[slot].get());
    }

    void build(const Open& node, int slot, int threads) {
        builder_.build(entries(node.buffer) + node.begin, node.n_rows(), histogram(slot), threads);
    }

    bool compact(const Open& node) const { return node.n_rows() < compact_rows_; }

    // ---- features ------------------------------------------------------------------------------------------------

    // The k items with the smallest draws, in rising order.
    static std::vector<int32_t> choose(const std::vector<int32_t>& items, double share, uint64_t key) {
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

    std::vector<uint8_t> sample_tree_features() const {
        std::vector<int32_t> all(data_.n_features());
        std::iota(all.begin(), all.end(), 0);
        std::vector<uint8_t> wanted(all.size(), 0);
        for (int32_t f : choose(all, params_.colsample_tree, draw(seed_, 0x74726565))) wanted[f] = 1;  // "tree"
        return wanted;
    }

    std::vector<int32_t> node_features(const Open& node, int depth) const {
        std::vector<int32_t> features;
        for (int32_t f = 0; f < data_.n_features(); ++f)
            if (selection_.wanted[f] && allowed_together(node, f)) features.push_back(f);
        if (params_.colsample_level < 1)
            features = choose(features, params_.colsample_level, draw(seed_, 0x6c6576, depth));  // "lev"
        if (params_.max_features < 1)  // symmetric trees draw once a level
            features = choose(features, params_.max_features,
                              params_.growth == Growth::symmetric ? draw(seed_, 0x6e6f6465, depth) : node.path);
        return features;
    }

    bool allowed_together(const Open& node, int32_t feature) const {
        if (params_.interaction_sets.empty()) return true;
        for (size_t i = 0; i < node.interactions.size(); ++i)
            if (node.interactions[i] && in_set(i, feature)) return true;
        return false;
    }

    bool in_set(size_t i, int32_t feature) const {
        const std::vector<int32_t>& set = params_.interaction_sets[i];
        return std::find(set.begin(), set.end(), feature) != set.end();
    }

    // ---- candidates ----------------------------------------------------------------------------------------------

    bool splittable(const Open& node, int depth) const {
        return (params_.max_depth <= 0 || depth < params_.max_depth) &&
               node.n_rows() >= std::max<int64_t>(2, 2 * params_.min_samples_leaf) &&
               scale_.hessian_of(node.total) >= 2 * params_.min_child_weight && !node.features.empty();
    }

    NodeView<Layout> view(const Open& node) const {
        return {entries(node.buffer) + node.begin,
                {node.total, node.n_rows(), node.rule},
                &node.features,
                histogram(node.slot),
                params_.growth == Growth::symmetric ? draw(seed_, 0x6e6f6973, level_depth_)  // "nois"
                                                    : draw(node.path, 0x6e6f6973)};
    }

    void evaluate(Open& node, int worker, int threads) {
        node.best = search_.find(view(node), worker, threads);
        if (!node.best.found()) node.best.gain = -infinity;
    }

    void evaluate_root(Open& root) {
        if (!compact(root)) {
            root.slot = take_slot();
            build(root, root.slot, threads_);
        }
        if (params_.growth != Growth::symmetric) evaluate(root, 0, threads_);
    }

    // ---- preparing -----------------------------------------------------------------------------------------------

    // Rows of `node` to two children in the other buffer. spare: an unused histogram slot, −1 if none is wanted.
    void prepare(int32_t id, int spare, bool deeper, int worker, int threads) {
        Open& node = open_[id];
        Condition& condition = node.best.condition;
        std::vector<uint8_t>& left_table = left_tables_[worker];
        Code n_bins = data_.feature(condition.feature).n_bins;
        fill_left_table(condition, n_bins, left_table);
        int target = 1 - node.buffer;
        int64_t n_left = partition<Layout>(data_, condition.feature, left_table, entries(node.buffer) + node.begin,
                                           entries(target) + node.begin,
                                           space_.flags.template get<uint8_t>() + node.begin, node.n_rows(), threads);
        node.children = std::make_unique<std::array<Open, 2>>();
        Open& left = (*node.children)[0];
        Open& right = (*node.children)[1];
        left.begin = node.begin;
        left.end = right.begin = node.begin + n_left;
        right.end = node.end;
        left.buffer = right.buffer = target;
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
        int depth = nodes_[id].depth + 1;
        for (Open* child : {&left, &right}) child->features = node_features(*child, depth);
        if (deeper)
            prepare_candidates(node, depth, spare, worker, threads);
        else
            release_later(spare, worker);
    }

    // Values that the node never saw, missing or a category, follow the larger child; unless told otherwise, right.
    void send_absent_left(Condition& condition, const std::vector<uint8_t>& seen) const {
        Code n_bins = data_.feature(condition.feature).n_bins;
        if (!seen[n_bins]) condition.missing_left = true;
        if (condition.kind == ConditionKind::category)
            for (Code code = 0; code < n_bins; ++code)
                if (!seen[code]) condition.put(code);
    }

    // A histogram cannot tell rows whose statistics round to 0 from none: those that went right are looked up.
    void mark_seen(const Open& right, int32_t feature, std::vector<uint8_t>& seen) const {
        const FeatureCodes& info = data_.feature(feature);
        if (!info.categorical && (!info.has_missing || seen[info.n_bins])) return;
        const Entry<Layout>* rows = entries(right.buffer) + right.begin;
        for (int64_t i = 0; i < right.n_rows(); ++i) seen[data_.code(feature, rows[i].row)] = 1;
    }

    // Which codes of its split feature occur in a node; of a numeric one only the missing code is looked at.
    std::vector<uint8_t> seen_codes(const Open& node) const {
        int32_t feature = node.best.condition.feature;
        const FeatureCodes& info = data_.feature(feature);
        std::vector<uint8_t> seen(static_cast<size_t>(info.n_bins) + 1, 0);
        if (node.slot >= 0 && !node.stale) {
            const Sum* hist = histogram(node.slot) + info.first_bin;
            for (size_t code = info.categorical ? 0 : info.n_bins; code < seen.size(); ++code)
                seen[code] = hist[code] != Sum{};
        } else {
            const Entry<Layout>* rows = entries(node.buffer) + node.begin;
            for (int64_t i = 0; i < node.n_rows(); ++i) seen[data_.code(feature, rows[i].row)] = 1;
        }
        return seen;
    }

    // Bounds of the children's values: a split on a monotone feature puts the middle of the two values between them.
    void inherit_rules(const Open& node, Open& left, Open& right) const {
        left.rule = right.rule = node.rule;
        int direction = params_.monotone.empty() ? 0 : params_.monotone[node.best.condition.feature];
        if (direction != 0) {
            double middle = (node.rule.value(scale_.gradient_of(left.total), scale_.hessian_of(left.total)) +
                             node.rule.value(scale_.gradient_of(right.total), scale_.hessian_of(right.total))) /
                            2;
            (direction > 0 ? left : right).rule.upper = middle;
            (direction > 0 ? right : left).rule.lower = middle;
        }
        left.interactions = right.interactions = node.interactions;
        for (size_t i = 0; i < node.interactions.size(); ++i)
            if (!in_set(i, node.best.condition.feature)) left.interactions[i] = right.interactions[i] = 0;
    }

    // Histograms for the children that can split again, then their candidates.
    void prepare_candidates(Open& node, int depth, int spare, int worker, int threads) {
        bool symmetric = params_.growth == Growth::symmetric;
        Open& left = (*node.children)[0];
        Open& right = (*node.children)[1];
        Open& smaller = left.n_rows() <= right.n_rows() ? left : right;
        Open& larger = left.n_rows() <= right.n_rows() ? right : left;
        bool wanted_small = symmetric || splittable(smaller, depth),
             wanted_large = symmetric || splittable(larger, depth);
        bool dense_large = symmetric || (!compact(larger) && (wanted_large || (wanted_small && !compact(smaller))));
        if (dense_large) {
            if (node.stale) build(node, node.slot, threads);
            build(smaller, spare, threads);
            builder_.subtract(histogram(node.slot), histogram(spare), data_.n_total_bins());
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

    // Slots are handed back by the thread that owns the loop.
    void release_later(int& slot, int worker) {
        if (slot >= 0) returned_[worker].push_back(slot);
        slot = -1;
    }

    void collect_returned() {
        for (std::vector<int>& slots : returned_) {
            free_slots_.insert(free_slots_.end(), slots.begin(), slots.end());
            slots.clear();
        }
    }

    bool large(const Open& node) const { return node.n_rows() * data_.n_features() >= large_node; }

    // Prepares nodes that are not prepared yet: large ones with all threads, small ones a thread each.
    void prepare_all(const std::vector<int32_t>& ids, bool deeper) {
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

    // ---- committing ----------------------------------------------------------------------------------------------

    void commit(int32_t id) {
        std::unique_ptr<std::array<Open, 2>> children = std::move(open_[id].children);
        for (int side = 0; side < 2; ++side) {
            GrownNode child;
            child.parent = id;
            child.depth = nodes_[id].depth + 1;
            child.n_rows = (*children)[side].n_rows();
            (side == 0 ? nodes_[id].left : nodes_[id].right) = static_cast<int32_t>(nodes_.size());
            nodes_.push_back(std::move(child));
            open_.push_back(std::move((*children)[side]));
            bool scarce = space_.histograms.size() - free_slots_.size() > max_histograms_;
            if (scarce && params_.growth != Growth::symmetric) release(open_.back().slot);
            if (open_.back().best.found() && params_.growth != Growth::symmetric)
                queue_.insert(queue_key(static_cast<int32_t>(nodes_.size()) - 1));
        }
        nodes_[id].condition = open_[id].best.condition;
        nodes_[id].gain = open_[id].best.gain;
        ++n_splits_;
    }

    int64_t splits_left() const {
        return params_.max_leaf_nodes <= 0 ? std::numeric_limits<int64_t>::max()
                                           : params_.max_leaf_nodes - 1 - n_splits_;
    }

    struct QueueKey {
        int depth;  // 0 for leaf-wise growth
        double gain;
        int32_t id;
        bool operator<(const QueueKey& o) const {
            if (depth != o.depth) return depth < o.depth;
            return gain != o.gain ? gain > o.gain : id < o.id;
        }
    };

    QueueKey queue_key(int32_t id) const {
        return {params_.growth == Growth::leaf ? 0 : nodes_[id].depth, open_[id].best.gain, id};
    }

    // Leaf- and level-wise growth: one batch. False when the tree is done.
    bool grow_batch() {
        if (queue_.empty() || splits_left() <= 0) return false;
        std::vector<int32_t> batch = next_batch();
        bool last = static_cast<int64_t>(batch.size()) == splits_left() && params_.growth == Growth::level;
        bool final_split = splits_left() == 1;
        prepare_all(batch, !(last || final_split));
        // Leaf-wise, only the best is split for certain; the others wait, prepared.
        if (params_.growth == Growth::leaf) batch.resize(1);
        for (int32_t id : batch) {
            queue_.erase(queue_key(id));
            commit(id);
        }
        return true;
    }

    // Level-wise: the whole level. Leaf-wise: the best node, and with it, while nodes are small, the next-best ones
    // that are not prepared yet, so that every thread has a node of its own.
    std::vector<int32_t> next_batch() const {
        std::vector<int32_t> batch;
        bool level = params_.growth == Growth::level;
        const Open& best = open_[queue_.begin()->id];
        bool alone = threads_ == 1 || best.children != nullptr || large(best);
        size_t most = level ? queue_.size() : alone ? 1 : 2 * static_cast<size_t>(threads_);
        most = static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(most), splits_left()));
        for (auto it = queue_.begin(); it != queue_.end() && batch.size() < most; ++it) {
            if (it->depth != queue_.begin()->depth) break;
            const Open& node = open_[it->id];
            if (level || batch.empty() || (node.children == nullptr && !large(node))) batch.push_back(it->id);
        }
        return batch;
    }

    // ---- symmetric trees -----------------------------------------------------------------------------------------

    bool level_may_split(int depth) const {
        int64_t leaves = int64_t{1} << depth;
        return (params_.max_depth <= 0 || depth < params_.max_depth) && depth < 30 &&
               (params_.max_leaf_nodes <= 0 || 2 * leaves <= params_.max_leaf_nodes);
    }

    bool grow_level() {
        if (!level_may_split(level_depth_) || open_[0].stale || (level_depth_ == 0 && open_[0].slot < 0)) return false;
        std::vector<int32_t> level(size_t{1} << level_depth_);
        std::iota(level.begin(), level.end(), static_cast<int32_t>(nodes_.size() - level.size()));
        std::vector<NodeView<Layout>> views;
        for (int32_t id : level) views.push_back(view(open_[id]));
        Candidate shared = search_.find_shared(views, threads_);
        if (!shared.found() || !(shared.gain > 0)) return false;
        std::vector<uint8_t> seen(data_.feature(shared.condition.feature).n_bins + size_t{1}, 0);
        for (int32_t id : level) {
            give_shared(id, shared);
            std::vector<uint8_t> codes = seen_codes(open_[id]);
            for (size_t c = 0; c < codes.size(); ++c) seen[c] |= codes[c];
        }
        prepare_all(level, level_may_split(level_depth_ + 1));
        int64_t lefts = 0, rows = 0;
        for (int32_t id : level) {
            lefts += (*open_[id].children)[0].n_rows();
            rows += open_[id].n_rows();
        }
        if (2 * lefts > rows) {
            for (int32_t id : level) mark_seen((*open_[id].children)[1], shared.condition.feature, seen);
            send_absent_left(shared.condition, seen);
        }
        for (int32_t id : level) {
            open_[id].best.condition = shared.condition;
            commit(id);
        }
        ++level_depth_;
        return true;
    }

    void give_shared(int32_t id, const Candidate& shared) {
        Open& node = open_[id];
        const FeatureCodes& info = data_.feature(shared.condition.feature);
        node.best = shared;
        fill_left_table(shared.condition, info.n_bins, left_tables_[0]);
        node.best.left = search_.left_sum(histogram(node.slot) + info.first_bin, left_tables_[0]);
        auto score = [&](const WideSum& s) { return node.rule.score(scale_.gradient_of(s), scale_.hessian_of(s)); };
        double gain = score(node.best.left) + score(node.total - node.best.left) - score(node.total);
        node.best.gain = std::max(0.0, 0.5 * gain);
    }

    const BinnedData& data_;
    const LaneScale& scale_;
    const TreeParams& params_;
    uint64_t seed_;
    int threads_;
    Workspace& space_;
    FeatureSelection selection_;
    HistogramBuilder<Layout> builder_;
    SplitSearch<Layout> search_;
    size_t max_histograms_;
    int64_t compact_rows_;
    std::vector<int> free_slots_;
    std::vector<std::vector<int>> returned_;
    std::vector<std::vector<uint8_t>> left_tables_;
    std::vector<GrownNode> nodes_;
    std::vector<Open> open_;
    std::set<QueueKey> queue_;
    int64_t n_splits_ = 0;
    int level_depth_ = 0;
};

}  // namespace arboretum
