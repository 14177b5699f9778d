// The best split of a node: every feature's histogram is turned into a BinView, searched, and the winners compared in
// feature order. Two ways to fill a view, one search:
//
//   dense    all codes of the feature, from the node's histogram          (large nodes)
//   compact  only the codes that occur, gathered from the node's rows     (fewer rows than a third of the bins, where
//            in scratch that is always left zero                           clearing and scanning these would cost more)
//
// Features with many bins are compact in larger nodes than those with few: the first blocks of a node are dense, the
// others compact (binned_data.hpp: bins per feature rise from block to block).
//
// Rows are not summed in dense histograms. A cut's rows are known to be enough when its hessians cannot come from
// fewer; otherwise the winning feature's rows are counted and it is searched again, until the winner is certain. The
// result is that of exact counts at no cost for ordinary nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/per_thread.hpp"
#include "base/types.hpp"
#include "data/binned_data.hpp"
#include "grow/gradient/split.hpp"
#include "grow/gradient/tree_rows.hpp"

namespace arboretum {

struct Candidate {
    double gain = -infinity;
    Condition condition;
    WideSum left;

    bool found() const { return condition.feature >= 0; }
};

// A node as the search sees it.
struct NodeView {
    RowRange rows;
    NodeFacts facts;
    const std::vector<int32_t>* features;  // to look at, rising
    const TreeRows::Bins* hist;            // of the blocks that are dense
    int32_t n_dense;                       // blocks
    uint64_t noise_key;                    // of the noise of its scores; nodes of a symmetric level share it
};

// The search of a node, which may have to wait for rows that lie elsewhere.
struct Contest {
    std::vector<FeatureBest> bests;  // of the features of the node
    std::vector<int32_t> uncounted;  // features whose rows by code must be fetched before the search goes on
};

class SplitSearch {
  public:
    SplitSearch(const BinnedData& data, const LaneScale& scale, const TreeParams& params, TreeRows& rows, int threads);

    // A node, and the contest that it is searched for.
    struct Searched {
        NodeView node;
        Contest* contest;
    };

    // Fills the bests of contests that have none. Threads take parts of all nodes in one job: some of the features of one
    // node, or a compact node as a whole.
    void search(std::span<const Searched> nodes, int worker, int threads);
    // The winner of a contest that was searched; nothing while contest.uncounted is not empty. A second call goes on where
    // the first had to wait.
    Candidate decide(const NodeView& node, Contest& contest, int worker);

    // The one condition of highest score, gain or cosine, over all nodes of a level together (symmetric trees). A node
    // that a cut would leave with too little on one side gains nothing from it, but does not forbid it.
    Candidate find_shared(const std::vector<NodeView>& nodes, int threads);

  private:
    static constexpr int64_t feature_chunk = 4;
    static constexpr Code narrow_bins = 16;      // up to which dense features are searched together
    static constexpr size_t most_uncounted = 8;  // features that are counted with one question

    // Sums over the nodes of a level, for each cut that they share; the last two for cosines only.
    struct SharedCuts {
        std::vector<double> gain, product, square;
    };

    struct Level {
        double least = 0;   // gain that a cut must exceed
        double cosine = 0;  // before any cut
    };

    // A feature that may win, in a heap: the highest score on top, the first feature of several.
    struct Leader {
        double score;
        int64_t place;
        bool operator<(const Leader& o) const { return score != o.score ? score < o.score : place > o.place; }
    };

    struct Scratch {
        int thread = 0;
        std::vector<Leader> leaders;
        std::vector<int32_t> together;  // features, and where they are among those of the node
        std::vector<int64_t> places, ends;
        FeatureSums sums;
        BinView view;  // of the sums
        std::vector<double> gains;
        SharedCuts missing_right, missing_left;
        std::vector<int64_t> counts;
        std::vector<WideSum> code_sums;
        std::vector<CategoryBin> categories;
        UsedBins used;
    };

    // ---- filling views -------------------------------------------------------------------------------------------

    static void reserve(Scratch& s, int64_t n);

    void load_dense(const NodeView& node, int32_t feature, const int64_t* counts, Scratch& s) const;

    void finish_view(Scratch& s, int64_t n, const Code* codes, bool rows_counted, int64_t missing_rows) const;

    void load_compact(int32_t feature, Scratch& s) const;

    int32_t block_of(int32_t feature) const { return data_.feature(data_.stored_in(feature)).block; }
    bool is_dense(const NodeView& node, int32_t feature) const { return block_of(feature) < node.n_dense; }

    // ---- one feature ---------------------------------------------------------------------------------------------

    // Some features, or compact blocks, of a node.
    struct Part {
        const Searched* of;
        bool dense;
        int64_t begin, end;
    };
    // visit(part) for all parts of a node.
    template <class Visit>
    void for_each_part(const Searched& searched, int threads, Visit&& visit) const;
    void search_part(const Part& part, Scratch& s) const;

    void search_dense(const NodeView& node, int64_t begin, int64_t end, const CutRule& rule, Scratch& s,
                      std::vector<FeatureBest>& bests) const;
    void search_compact(const NodeView& node, int32_t first_block, int32_t last_block, const CutRule& rule, Scratch& s,
                        std::vector<FeatureBest>& bests) const;

    // For numbers of few codes, what a search costs before its first cut outweighs the cuts: they share one pass.
    //
    //   features   f3        f4   f7
    //   gains      │ . . . │ . │ . . │      the best of each stretch
    //
    // rule: of all features, if leaf values have no bounds.
    bool is_plain(int32_t feature, const CutRule& rule) const;
    void search_together(const NodeView& node, bool dense, const CutRule& rule, Scratch& s,
                         std::vector<FeatureBest>& bests) const;
    // Loads what is searched together; returns how many entries there are.
    int64_t load_together(const NodeView& node, bool dense, Scratch& s) const;

    int monotone(int32_t feature) const { return params_.monotone.empty() ? 0 : params_.monotone[feature]; }

    // rule: of all features, but for their directions.
    FeatureBest search_feature(const NodeView& node, int32_t feature, CutRule rule, Scratch& s, bool rows_known) const;

    // Rows of each code, where rows are listed; else null.
    const int64_t* listed_counts(const NodeView& node, int32_t feature, Scratch& s) const;
    // Rows up to each cut of several features.
    void add_up_rows(const uint32_t* counts, std::span<const int32_t> features, int64_t* rows) const;
    // Those that decide which code comes next on the right, as they do where rows must be counted.
    const int64_t* deciding_counts(const NodeView& node, int32_t feature, const FeatureBest& best, Scratch& s) const;
    bool next_is_empty(const NodeView& node, int32_t feature, const FeatureBest& best) const;

    // Rows of weight 0 do not count where a histogram would not have them counted either. left: all that goes left.
    Code first_right_of_compact(const NodeView& node, const WideSum& left, const Scratch& s, int64_t entry,
                                int64_t end) const;

    // counts: rows of each code where they decide, or null.
    void find_first_right(const NodeView& node, int32_t feature, const int64_t* counts, FeatureBest& best) const;

    // rows >= hessians / (largest hessian of a row)
    bool enough_rows(const NodeView& node, const WideSum& left) const;

    FeatureBest search_categories(const NodeView& node, int32_t feature, const CutRule& rule, Scratch& s,
                                  bool rows_known) const;

    // ---- the winner ----------------------------------------------------------------------------------------------

    double rounding_gain(const NodeView& node) const;

    // The first feature of highest score, among those that gain more than `least`; −1 if none does. Scores get noise
    // that depends only on node and feature; the tree keeps the gain itself.
    int64_t best_scored(const std::vector<int32_t>& features, const std::vector<FeatureBest>& bests,
                        double FeatureBest::* score_of, double least, uint64_t noise_key) const;

    double noisy(double score, int32_t feature, uint64_t noise_key) const;

    Candidate to_candidate(const NodeView& node, Contest& contest, Scratch& scratch);

    // The winner, and the features that win after it, up to the first that is certain: those that may have to be counted.
    std::vector<int32_t> uncertain_leaders(const NodeView& node, std::vector<FeatureBest> bests, double least) const;

    // Declines to tell where the code after the cut may have rows that the histogram does not show: all rows must be
    // counted then.
    bool counts_enough_rows(const NodeView& node, int32_t feature, const FeatureBest& best) const;

    void count_rows(const NodeView& node, int32_t feature, Scratch& s) const;

    Candidate candidate_of(int32_t feature, const FeatureBest& best) const;

    // ---- symmetric trees -----------------------------------------------------------------------------------------

    Level level_of(const std::vector<NodeView>& nodes) const;

    FeatureBest search_shared(const std::vector<NodeView>& nodes, const Level& level, int32_t feature,
                              Scratch& s) const;

    void clear_cuts(SharedCuts& cuts, int64_t n) const;

    void add_cuts(Scratch& s, const CutRule& rule, bool missing_left, SharedCuts& cuts) const;

    // What a cut adds to the cosine of the level: the differences that 17 bits must tell apart.
    static double cosine_gain(const SharedCuts& cuts, int64_t i, const Level& level);

    static int64_t first_cosine(const SharedCuts& cuts, int64_t n, const Level& level);

    FeatureBest best_shared(const FeatureCodes& info, const Level& level, const std::vector<Code>& order,
                            bool any_missing, const Scratch& s) const;

    // Categories of a level by gradient / (hessian + smoothing) over all its nodes, rare ones apart; missing is one of
    // them.
    std::vector<Code> category_order(const std::vector<NodeView>& nodes, int32_t feature) const;

    void load_ordered(const NodeView& node, int32_t feature, const std::vector<Code>& order, Scratch& s) const;

    const BinnedData& data_;
    const LaneScale& scale_;
    const TreeParams& params_;
    TreeRows& rows_;
    PerThread<Scratch> scratch_;
    PerThread<std::vector<std::vector<FeatureBest>>> spare_bests_;  // memory of past contests
};

}  // namespace arboretum
