// The recipe of trees that are grown from gradients (grow.hpp).
//
//   next        the policy is an order and a batch:
//                   leaf        the open node of largest gain
//                   level       all open nodes of the least depth
//                   symmetric   all nodes of the level, with the one condition that gains most over them together
//   partition   rows to children, histograms (smaller child summed, larger by subtraction), candidates
//   commit      children get numbers and join the open nodes
//
// Partition does not change the tree, so `leaf` prepares the next-best nodes too when nodes are small: threads then
// work on different nodes instead of meeting at barriers inside one. What is committed, and in which order, stays that
// of strict best-first growth, for any number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "grow/gradient/feature_selection.hpp"
#include "grow/gradient/search.hpp"
#include "grow/gradient/tree_rows.hpp"
#include "grow/gradient/workspace.hpp"
#include "grow/grown_tree.hpp"

namespace arboretum {

// The features that a tree with this seed looks at.
FeatureSelection select_tree_features(const BinnedData& data, const TreeParams& params, uint64_t seed);

class TreeBuilder {
  public:
    TreeBuilder(const BinnedData& data, const LaneScale& scale, const TreeParams& params,
                const FeatureSelection& selection, uint64_t seed, int threads, Workspace& space, TreeRows& rows);

    // The root's rows are the first of buffer 0.
    GrownTree grow_from(int64_t n_rows, const WideSum& total);

    // Steps of grow.hpp.
    void open();
    bool next() { return params_.growth == Growth::symmetric ? next_level() : next_batch(); }
    void partition();
    void commit();

    // Rows of a leaf of the grown tree.
    RowNumbers rows_of(uint32_t leaf) const { return rows_.numbers(open_[leaf].rows); }

  private:
    static constexpr size_t histogram_budget = size_t{2} << 30;
    static constexpr double compact_share = 0.35;            // of bins per feature: nodes with fewer rows are compact
    static constexpr int64_t large_node = int64_t{1} << 19;  // rows × features from which threads share a node

    // A node of the frontier; index = node number. Children that are prepared but not committed wait in `children`.
    struct Open {
        RowRange rows;
        int depth = 0;
        int slot = -1;       // of its histogram
        bool stale = false;  // the slot is taken, its histogram must be summed again
        WideSum total;
        LeafRule rule;
        uint64_t path = 0;
        std::vector<uint8_t> interactions;  // interaction sets that still hold all features of the path
        std::vector<int32_t> features;
        Candidate best;
        std::unique_ptr<std::array<Open, 2>> children;

        int64_t n_rows() const { return rows.size(); }
    };

    // ---- histograms ----------------------------------------------------------------------------------------------

    int take_slot();

    void release(int& slot);

    TreeRows::Bins* histogram(int slot) const { return slot < 0 ? nullptr : space_.histograms[slot].get(); }

    void build(const Open& node, int slot, int threads) { rows_.build(node.rows, histogram(slot), threads); }

    bool compact(const Open& node) const { return node.n_rows() < compact_rows_; }

    // ---- features ------------------------------------------------------------------------------------------------

    std::vector<int32_t> node_features(const Open& node) const;

    bool allowed_together(const Open& node, int32_t feature) const;

    bool in_set(size_t i, int32_t feature) const;

    // ---- candidates ----------------------------------------------------------------------------------------------

    bool splittable(const Open& node) const;

    NodeView view(const Open& node) const;

    void evaluate(Open& node, int worker, int threads);

    void evaluate_root(Open& root);

    // ---- preparing -----------------------------------------------------------------------------------------------

    // Rows of `node` to two children in the other buffer. spare: an unused histogram slot, −1 if none is wanted.
    void prepare(int32_t id, int spare, bool deeper, int worker, int threads);

    // Values that the node never saw, missing or a category, follow the larger child; unless told otherwise, right.
    void send_absent_left(Condition& condition, const std::vector<uint8_t>& seen) const;

    // A histogram cannot tell rows whose statistics round to 0 from none: those that went right are looked up.
    void mark_seen(const Open& right, int32_t feature, std::vector<uint8_t>& seen) const;

    // Which codes of its split feature occur in a node; of a numeric one only the missing code is looked at.
    std::vector<uint8_t> seen_codes(const Open& node) const;

    void mark_rows(const Open& node, int32_t feature, std::vector<uint8_t>& seen) const;

    // Bounds of the children's values: a split on a monotone feature puts the middle of the two values between them.
    void inherit_rules(const Open& node, Open& left, Open& right) const;

    // Histograms for the children that can split again, then their candidates.
    void prepare_candidates(Open& node, int spare, int worker, int threads);

    // Slots are handed back by the thread that owns the loop.
    void release_later(int& slot, int worker);

    void collect_returned();

    bool large(const Open& node) const { return node.n_rows() * data_.n_features() >= large_node; }

    // Prepares nodes that are not prepared yet: large ones with all threads, small ones with one thread each.
    void prepare_all(const std::vector<int32_t>& ids, bool deeper);

    // ---- committing ----------------------------------------------------------------------------------------------

    void commit_node(int32_t id);

    int64_t splits_left() const;

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
        return {params_.growth == Growth::leaf ? 0 : open_[id].depth, open_[id].best.gain, id};
    }

    // Level-wise: the whole level. Leaf-wise: the best node, and with it, while nodes are small, the next-best ones
    // that are not prepared yet, so that every thread has a node of its own.
    bool next_batch();

    // ---- symmetric trees -----------------------------------------------------------------------------------------

    bool level_may_split(int depth) const;

    // The nodes of the level, each with the condition that they share.
    bool next_level();

    // Which codes of the shared condition's feature occur in the level.
    std::vector<uint8_t> seen_codes_of_level() const;

    // Codes that the level never saw follow its larger side.
    void settle_shared(std::vector<uint8_t> seen);

    void give_shared(int32_t id);

    // Sum of the codes that go left.
    WideSum left_sum(const Open& node, const FeatureCodes& info, const std::vector<uint8_t>& left) const;

    const BinnedData& data_;
    const LaneScale& scale_;
    const TreeParams& params_;
    uint64_t seed_;
    int threads_;
    Workspace& space_;
    TreeRows& rows_;
    const FeatureSelection& selection_;
    SplitSearch search_;
    size_t max_histograms_;
    int64_t compact_rows_;
    std::vector<int> free_slots_;
    std::vector<std::vector<int>> returned_;
    std::vector<std::vector<uint8_t>> left_tables_;
    GrownTree tree_;
    std::vector<Open> open_;
    std::set<QueueKey> queue_;
    std::vector<int32_t> batch_;  // nodes to split next
    Candidate shared_;            // of a level of a symmetric tree
    int64_t n_splits_ = 0;
    int level_depth_ = 0;
};

}  // namespace arboretum
