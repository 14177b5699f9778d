// The recipe of trees that are grown from gradients (grow.hpp).
//
//   next        the policy is an order and a batch:
//                   leaf        the open node of largest gain
//                   level       all open nodes of the least depth
//                   symmetric   all nodes of the level, with the one condition that gains most over them together
//   partition   rows to children, histograms (smaller child summed, larger by subtraction), candidates
//   commit      children get numbers and join the open nodes
//
// Partition does not change the tree, so `leaf` prepares the next-best nodes too when nodes are small. Threads then work
// on different nodes, without meeting: whoever is free commits the best nodes that are prepared, and prepares the next.
//
//   queue       A  prepared        commit
//               B  in work         by another thread: wait for it, or
//               C  open            prepare it meanwhile; perhaps in vain
//
// What is committed, and in which order, stays that of strict best-first growth, for any number of threads.
//
// Nodes whose rows lie elsewhere are prepared in the same way, but many with one question, since a question takes long:
//
//   fetch       what preparing some nodes needs of the parts' rows
//   prepare     as always, from the answer
//   resume      searches that had to wait: for rows by code, or for all rows of a compact node
//
// Nodes are then prepared several generations ahead, as far as they are likely to be split. Leaf-wise, the least gain on
// the way to a node decides when it is its turn:
//
//   open        A 9         B 7           C 2      ?: prepared by the next question, if the order of splits
//               ├── 5 ?     ├── waits              A, B, 6, 5, … reaches them before the tree is full
//               └── 1       └── 6 ?
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/per_thread.hpp"
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

    GrownTree grow_from(const RowRange& rows, const WideSum& total);

    // Steps of grow.hpp.
    void open();
    bool next() { return params_.growth == Growth::symmetric ? next_level() : next_batch(); }
    void partition();
    void commit();

    // Rows of a node of the grown tree; they may have moved on unless it is a leaf.
    const RowRange& rows_of(uint32_t node) const { return open_[node].rows; }

    // The last nodes on each path that parts know, and the nodes of the grown tree that their rows reach. Below a node
    // whose rows were sent, parts know none; below one that was prepared in vain, they know more than the tree has.
    std::vector<std::pair<int32_t, uint32_t>> part_nodes(const GrownTree& tree) const;

  private:
    static constexpr size_t histogram_budget = size_t{2} << 30;
    static constexpr double compact_share = 0.35;  // of bins per feature: blocks of nodes with fewer rows are compact
    static constexpr double listed_share = 0.5;    // the same where rows are listed
    static constexpr int64_t large_node = int64_t{1} << 19;    // codes from which threads share a node
    static constexpr double alone_share = 0.25;                // of these, for a node that is the only one
    static constexpr double search_cost = 4;                   // of a bin, in codes that are summed
    static constexpr int64_t look_ahead = 2;                   // nodes of the queue that each thread looks at
    static constexpr int small_workers = 8;                    // threads at most that prepare nodes perhaps in vain
    static constexpr size_t question_bytes = size_t{1} << 28;  // of the histograms that one question fetches
    // Histograms per leaf up to which nodes are fetched that may turn out to stay leaves.
    static constexpr double fetch_share = 1.45;
    // Below a split of gain g, about fall_of_gains · (g / x − 1) others gain more than x.
    static constexpr double fall_of_gains = 1;

    // A node of the frontier; index = node number. Children that are prepared but not committed wait in `children`.
    struct Open {
        RowRange rows;
        int depth = 0;
        TreeRows::Bins* bins = nullptr;  // its histogram
        bool stale = false;              // the histogram must be summed again
        bool in_work = false;            // a thread prepares it
        WideSum total;
        LeafRule rule;
        uint64_t path = 0;
        std::vector<uint8_t> interactions;  // interaction sets that still hold all features of the path
        std::vector<int32_t> features;
        std::vector<int32_t> listed_rows;  // of each feature, if rows are listed: those whose code is not its default
        Contest contest;                   // while its search waits
        bool waiting = false;              // for rows elsewhere
        Candidate best;
        std::unique_ptr<std::array<Open, 2>> children;

        int64_t n_rows() const { return rows.size(); }
        bool is_prepared() const { return !in_work && children != nullptr; }
        bool is_untouched() const { return !in_work && children == nullptr; }
    };

    // ---- histograms ----------------------------------------------------------------------------------------------

    TreeRows::Bins* take_histogram();

    void release(TreeRows::Bins*& bins);

    // Blocks that are dense in a node with a histogram: all, if its rows lie elsewhere.
    int32_t n_dense(const Open& node) const {
        if (node.rows.afar()) return static_cast<int32_t>(dense_rows_.size());
        const auto end = std::upper_bound(dense_rows_.begin(), dense_rows_.end(), node.n_rows());
        return static_cast<int32_t>(end - dense_rows_.begin());
    }

    // Whether no block is dense.
    bool compact(const Open& node) const { return node.n_rows() < dense_rows_.front(); }

    // Its memory was needed elsewhere.
    bool lost_histogram(const Open& node) const { return node.bins == nullptr && !compact(node); }

    // ---- features ------------------------------------------------------------------------------------------------

    std::vector<int32_t> node_features(const Open& node) const;

    // Whether children look at the features of their parent.
    bool inherits_features() const {
        return params_.colsample_level >= 1 && params_.max_features >= 1 && params_.interaction_sets.empty();
    }

    // Whether all nodes look at the features of the root.
    bool shares_features() const { return inherits_features() && !counts_listed(); }
    const std::vector<int32_t>& features_of(const Open& node) const {
        return shares_features() ? root_features_ : node.features;
    }

    // Where rows are listed: counts those of the children, and leaves out features that cannot be cut. A side of each cut
    // has only rows whose code is not the default, and the deeper the node, the fewer they are. Nodes of a symmetric level
    // share their features.
    bool counts_listed() const { return data_.is_listed() && params_.growth != Growth::symmetric; }
    void count_rows(Open& node) const;
    void count_children(Open& node) const;
    void leave_out_rare(Open& node) const;

    bool allowed_together(const Open& node, int32_t feature) const;

    bool in_set(size_t i, int32_t feature) const;

    // ---- candidates ----------------------------------------------------------------------------------------------

    bool splittable(const Open& node) const;

    NodeView view(const Open& node) const;

    // Of at most two nodes.
    void evaluate(std::span<Open* const> nodes, int worker, int threads);

    void evaluate_root(Open& root);

    // Whether a child may be split again, as far as that is known before its rows are counted.
    bool may_split(int depth, const WideSum& total) const;

    // ---- rows elsewhere ------------------------------------------------------------------------------------------

    // The child whose histogram is summed. Elsewhere, hessians stand for rows that are not counted yet.
    bool sums_left(const Open& node) const;

    // One question: what preparing these nodes needs of rows elsewhere, and what those that wait need. Small nodes come
    // here, with all that will grow below them.
    void fetch(std::span<Open* const> nodes, bool deeper, std::span<Open* const> waiting);

    RowRequest partition_request(Open& node, bool deeper) const;

    // The searches that waited go on; some may have to wait again.
    void resume(std::span<Open* const> waiting);

    // One question for everything that is worth it. least: how many nodes must be prepared.
    void ask_ahead(size_t least, bool deeper);

    // How many histograms a question may be about, since all of them come at once.
    size_t histograms_at_once() const {
        return std::max<size_t>(1, question_bytes / std::max<size_t>(space_.histogram_bytes, 1));
    }

    // What a question may be about, in the order of splits.
    struct Prospect {
        int depth;    // 0 for leaf-wise growth
        double gain;  // leaf-wise, the least on the way to the node; while it waits, at most this
        Open* node;
    };
    void add_prospects(Open& node, double gain, std::vector<Prospect>& prospects);

    // Nodes to prepare: those that are split next if gains fall from parents to children as they usually do, while
    // there is room for histograms that turn out to be in vain.
    std::vector<Open*> worth_fetching(const std::vector<Prospect>& prospects, size_t least) const;

    // What a waiting node can gain at most.
    static double highest_gain(const Open& node);

    // Whether a node that waits may have to be split before the best of the queue.
    bool may_be_overtaken() const;

    // ---- preparing -----------------------------------------------------------------------------------------------

    // Memory of the histograms that preparing a node needs: its own if it was lost, and what is returned.
    TreeRows::Bins* take_spare(Open& node, bool deeper);

    // Rows of `node` to two children in the other buffer. spare: an unused histogram, null if none is wanted.
    void prepare(Open& node, TreeRows::Bins* spare, bool deeper, int worker, int threads);

    // Values that the node never saw, missing or a category, follow the larger child; unless told otherwise, right.
    // Those whose rows all went left stay there: only codes with rows on the right matter.
    void send_absent_left(Condition& condition, const std::vector<uint8_t>& seen) const;

    // A histogram cannot tell rows whose statistics round to 0 from none: those that went right are looked up.
    void mark_seen(const Open& right, int32_t feature, std::vector<uint8_t>& seen) const;

    // Which codes of its split feature occur in a node, as far as its histogram is there and tells; of a numeric one
    // only the missing code is looked at.
    std::vector<uint8_t> seen_codes(const Open& node) const;

    // Bounds of the children's values: a split on a monotone feature puts the middle of the two values between them.
    void inherit_rules(const Open& node, Open& left, Open& right) const;

    // Histograms for the children that can split again, then their candidates.
    void prepare_candidates(Open& node, TreeRows::Bins* spare, int worker, int threads);

    // The histogram of a node becomes that of its larger child; dense_*: blocks of the children. That of the smaller one
    // need not be there where rows are listed.
    void hand_down(const Open& node, const Open& smaller, int32_t dense_small, int32_t dense_large);

    // The histogram of a child that will not inherit it.
    void release_unneeded(Open& child, int worker);

    // Histograms are handed back by the thread that owns the loop, or holds the lock.
    void release_later(TreeRows::Bins*& bins, int worker);

    void collect_returned(int worker);
    void collect_returned() {
        for (int worker = 0; worker < threads_; ++worker) collect_returned(worker);
    }

    bool large(const Open& node) const { return !node.rows.afar() && codes_of(node) >= large_node; }
    double codes_of(const Open& node) const { return static_cast<double>(node.n_rows()) * codes_per_row_; }

    // Prepares nodes that are not prepared yet: large ones, and one alone, with all threads, others with one thread each.
    void prepare_all(std::span<Open* const> nodes, bool deeper);

    // The nodes of the batch.
    void prepare_batch(bool deeper);

    // ---- committing ----------------------------------------------------------------------------------------------

    void commit_node(int32_t id);

    // An open node joins the queue, or those that wait.
    void await(int32_t id);

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

    // Level-wise: the whole level. Leaf-wise: the best node, once small ones that come before it are split.
    bool next_batch();

    // ---- small nodes of leaf-wise growth -------------------------------------------------------------------------

    // Nodes of sparse tables with a histogram, which is large, are shared: searching it takes longer than all else.
    bool is_small(const Open& node) const {
        if (large(node) || node.rows.afar()) return false;
        return compact(node) || !(data_.is_listed() || (is_alone() && shared_alone(node)));
    }

    // A node that is the only one is shared by all threads if it is not too small for that.
    bool is_alone() const { return queue_.size() == 1; }
    bool shared_alone(const Open& node) const {
        const double searched = static_cast<double>(features_of(node).size()) * bins_per_feature_;
        return codes_of(node) + search_cost * searched >= alone_share * large_node;
    }
    bool begins_small() const;

    // Splits nodes until the tree is done, or until the best node is one that all threads should share.
    void split_small();
    struct Shared;  // by the threads that do it
    void split_small(Shared& shared, int worker);
    void commit_prepared(Shared& shared);
    Open* next_small(int n_workers);

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
    double codes_per_row_;  // that a node reads
    double bins_per_feature_;
    std::vector<int64_t> dense_rows_;  // of each block, rising: nodes of so many rows have it dense
    std::vector<TreeRows::Bins*> free_histograms_;
    PerThread<std::vector<TreeRows::Bins*>> returned_;
    PerThread<std::vector<uint8_t>> left_tables_;
    GrownTree tree_;
    std::deque<Open> open_;               // where nodes stay when others are added: threads work on them
    std::vector<int32_t> root_features_;  // if all nodes share them
    std::set<QueueKey> queue_;
    std::set<int32_t> undecided_;  // open nodes that wait
    std::vector<int32_t> batch_;   // nodes to split next
    Candidate shared_;             // of a level of a symmetric tree
    int64_t n_splits_ = 0;
    int level_depth_ = 0;
};

}  // namespace arboretum
