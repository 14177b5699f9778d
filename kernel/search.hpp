// The best split of a node: every feature's histogram is turned into a BinView, searched, and the winners compared in
// feature order. Two ways to fill a view, one search:
//
//   dense    all codes of the feature, from the node's histogram          (large nodes)
//   compact  only the codes that occur, gathered from the node's rows     (a few dozen rows, where clearing and
//            in scratch that is always left zero                           scanning 256 bins would cost more)
//
// Rows are not summed in dense histograms. A cut's rows are known to be enough when its hessians cannot come from
// fewer; otherwise the winning feature's rows are counted and it is searched again, until the winner is certain. The
// result is that of exact counts at no cost for ordinary nodes.
#pragma once

#include "histogram.hpp"
#include "rng.hpp"
#include "split.hpp"

namespace arboretum {

struct Candidate {
    double gain = -infinity;
    Condition condition;
    WideSum left;

    bool found() const { return condition.feature >= 0; }
};

// A node as the search sees it.
template <class Layout>
struct NodeView {
    const Entry<Layout>* entries;
    NodeFacts facts;
    const std::vector<int32_t>* features;  // to look at, rising
    const typename Layout::Sum* hist;      // null: compact
    uint64_t noise_key;                    // of the noise of its scores; nodes of a symmetric level share it
};

template <class Layout>
class SplitSearch {
  public:
    using Sum = typename Layout::Sum;

    SplitSearch(const BinnedData& data, const LaneScale& scale, const TreeParams& params, int threads)
        : data_(data), scale_(scale), params_(params), scratch_(threads) {}

    Candidate find(const NodeView<Layout>& node, int worker, int threads) {
        const std::vector<int32_t>& features = *node.features;
        std::vector<FeatureBest> bests(features.size());
        if (node.hist == nullptr) {
            gather_compact(node, scratch_[worker]);
            for (size_t i = 0; i < features.size(); ++i) {
                load_compact(node, features[i], scratch_[worker]);
                bests[i] = search_feature(node, features[i], scratch_[worker], true);
            }
            clear_compact(node, scratch_[worker]);
        } else {
            bool rows_known = scale_.hessian_counts_rows;
            parallel_blocks(static_cast<int64_t>(features.size()), feature_chunk, threads,
                            [&](int64_t begin, int64_t end, int inner) {
                                Scratch& scratch = scratch_[threads > 1 ? inner : worker];
                                for (int64_t i = begin; i < end; ++i) {
                                    load_dense(node, features[i], nullptr, scratch);
                                    bests[i] = search_feature(node, features[i], scratch, rows_known);
                                }
                            });
        }
        return to_candidate(node, features, bests, scratch_[worker]);
    }

    // The one condition of highest score, gain or cosine, over all nodes of a level together (symmetric trees). A node
    // that a cut would leave with too little on one side gains nothing from it, but does not forbid it.
    Candidate find_shared(const std::vector<NodeView<Layout>>& nodes, int threads) {
        const std::vector<int32_t>& features = *nodes.front().features;
        std::vector<FeatureBest> bests(features.size());
        const Level level = level_of(nodes);
        parallel_for(static_cast<int64_t>(features.size()), threads, [&](int64_t i, int worker) {
            bests[i] = search_shared(nodes, level, features[i], scratch_[worker]);
        });
        int64_t winner = best_scored(features, bests, &FeatureBest::score, level.least, nodes.front().noise_key);
        return winner < 0 ? Candidate{} : candidate_of(features[winner], bests[winner]);
    }

    // Sum over the codes that go left; `left` covers all codes of the feature.
    static WideSum left_sum(const Sum* feature_hist, const std::vector<uint8_t>& left) {
        WideSum sum;
        for (size_t code = 0; code < left.size(); ++code)
            if (left[code]) sum += Layout::unpack(feature_hist[code]);
        return sum;
    }

  private:
    static constexpr int64_t feature_chunk = 4;

    // Sums over the nodes of a level, for each cut that they share; the last two for cosines only.
    struct SharedCuts {
        std::vector<double> gain, product, square;
    };

    struct Level {
        double least = 0;   // gain that a cut must exceed
        double cosine = 0;  // before any cut
    };

    struct Scratch {
        std::vector<double> gradient, hessian, gains;
        SharedCuts missing_right, missing_left;
        std::vector<Sum> running;
        std::vector<int64_t> rows;
        std::vector<Code> codes;
        std::vector<WideSum> prefix;  // compact views: sums up to each entry
        std::vector<int64_t> counts;
        WideSum missing;
        BinView view;
        std::vector<CategoryBin> categories;
        // compact form: always zero between nodes
        std::vector<Sum> bin_sums;
        std::vector<uint32_t> bin_rows;
        std::vector<uint64_t> marks;  // a bit a bin
    };

    // ---- filling views -------------------------------------------------------------------------------------------

    static void reserve(Scratch& s, int64_t n) {
        if (static_cast<int64_t>(s.gradient.size()) >= n) return;
        for (auto* v : {&s.gradient, &s.hessian, &s.gains}) v->resize(n);
        s.running.resize(n);
        s.rows.resize(n);
        s.codes.resize(n);
        s.prefix.resize(n);
        s.counts.resize(n);
    }

    void load_dense(const NodeView<Layout>& node, int32_t feature, const int64_t* counts, Scratch& s) const {
        const FeatureCodes& info = data_.feature(feature);
        const Sum* hist = node.hist + info.first_bin;
        int64_t n = info.n_bins;
        reserve(s, n + 1);
        Sum running{};
        for (int64_t i = 0; i < n; ++i) s.running[i] = running += hist[i];
        unpack_sums(s.running.data(), n, 1 / scale_.gradient, 1 / scale_.hessian, s.gradient.data(), s.hessian.data());
        bool rows_known = counts != nullptr || scale_.hessian_counts_rows;
        if (counts != nullptr)
            std::partial_sum(counts, counts + n, s.rows.begin());
        else if (rows_known && params_.min_samples_leaf > 1)
            for (int64_t i = 0; i < n; ++i) s.rows[i] = Layout::unpack(s.running[i]).hessian;
        s.missing = Layout::unpack(hist[n]);
        finish_view(s, n, nullptr, rows_known,
                    counts != nullptr            ? counts[n]
                    : scale_.hessian_counts_rows ? s.missing.hessian
                                                 : 0);
    }

    void finish_view(Scratch& s, int64_t n, const Code* codes, bool rows_known, int64_t missing_rows) const {
        s.view = {n,
                  s.gradient.data(),
                  s.hessian.data(),
                  rows_known ? s.rows.data() : nullptr,
                  codes,
                  scale_.gradient_of(s.missing),
                  scale_.hessian_of(s.missing),
                  missing_rows,
                  s.missing != WideSum{} || missing_rows > 0};
    }

    void gather_compact(const NodeView<Layout>& node, Scratch& s) const {
        s.bin_sums.resize(data_.n_total_bins());
        s.bin_rows.resize(data_.n_total_bins());
        s.marks.resize(data_.n_total_bins() / 64 + 1);
        for (const Block& block : data_.blocks()) {
            switch (block.width) {
                case 1: gather_block<uint8_t>(node, block, s); break;
                case 2: gather_block<uint16_t>(node, block, s); break;
                default: gather_block<uint32_t>(node, block, s);
            }
        }
        for (int32_t bundle = 0; bundle < data_.n_bundles(); ++bundle) {
            expand_bundle(data_, bundle, s.bin_sums.data());
            expand_bundle(data_, bundle, s.bin_rows.data());
        }
        for (int64_t bin = data_.n_stored_bins(); bin < data_.n_total_bins(); ++bin)
            s.marks[bin / 64] |= static_cast<uint64_t>(s.bin_rows[bin] > 0) << (bin % 64);
    }

    template <class C>
    void gather_block(const NodeView<Layout>& node, const Block& block, Scratch& s) const {
        for (int64_t i = 0; i < node.facts.n_rows; ++i) {
            const C* codes = reinterpret_cast<const C*>(data_.row_codes(block, node.entries[i].row));
            const Sum stat = Layout::widen(node.entries[i].stat);
            for (size_t p = 0; p < block.features.size(); ++p) {
                int64_t bin = block.first_bin + static_cast<int64_t>(p) * block.bins + codes[p];
                s.bin_sums[bin] += stat;
                ++s.bin_rows[bin];
                s.marks[bin / 64] |= 1ull << (bin % 64);
            }
        }
    }

    // visit(bin) for each marked bin in [begin, end), rising.
    template <class Visit>
    static void for_marked(const std::vector<uint64_t>& marks, int64_t begin, int64_t end, Visit&& visit) {
        for (int64_t word = begin / 64; word * 64 < end; ++word) {
            uint64_t bits = marks[word];
            if (word == begin / 64) bits &= ~0ull << (begin % 64);
            if (word == end / 64) bits &= (1ull << (end % 64)) - 1;
            for (; bits != 0; bits &= bits - 1) visit(word * 64 + std::countr_zero(bits));
        }
    }

    void load_compact(const NodeView<Layout>&, int32_t feature, Scratch& s) const {
        const FeatureCodes& info = data_.feature(feature);
        reserve(s, static_cast<int64_t>(info.n_bins) + 1);
        double per_gradient = 1 / scale_.gradient, per_hessian = 1 / scale_.hessian;
        Sum running{};
        int64_t n = 0, rows = 0;
        for_marked(s.marks, info.first_bin, info.first_bin + info.n_bins, [&](int64_t bin) {
            running += s.bin_sums[bin];
            WideSum sum = Layout::unpack(running);
            s.gradient[n] = static_cast<double>(sum.gradient) * per_gradient;
            s.hessian[n] = static_cast<double>(sum.hessian) * per_hessian;
            s.prefix[n] = sum;
            s.rows[n] = rows += s.bin_rows[bin];
            s.codes[n++] = static_cast<Code>(bin - info.first_bin);
        });
        int64_t missing_bin = info.first_bin + info.n_bins;
        s.missing = Layout::unpack(s.bin_sums[missing_bin]);
        finish_view(s, n, s.codes.data(), true, s.bin_rows[missing_bin]);
    }

    void clear_compact(const NodeView<Layout>&, Scratch& s) const {
        for_marked(s.marks, 0, data_.n_total_bins(), [&](int64_t bin) {
            s.bin_sums[bin] = Sum{};
            s.bin_rows[bin] = 0;
        });
        std::fill(s.marks.begin(), s.marks.end(), 0);
    }

    // ---- one feature ---------------------------------------------------------------------------------------------

    int monotone(int32_t feature) const { return params_.monotone.empty() ? 0 : params_.monotone[feature]; }

    FeatureBest search_feature(const NodeView<Layout>& node, int32_t feature, Scratch& s, bool rows_known) const {
        CutRule rule = cut_rule(node.facts, scale_, params_, monotone(feature));
        if (data_.feature(feature).categorical) return search_categories(node, feature, rule, s, rows_known);
        NumericCut cut = find_numeric(s.view, rule, s.gains.data());
        FeatureBest best;
        if (cut.entry < 0) return best;
        best.gain = cut.gain;
        best.missing_left = cut.missing_left;
        best.threshold = s.view.codes != nullptr ? s.view.codes[cut.entry] : static_cast<Code>(cut.entry);
        best.left = node.hist == nullptr ? s.prefix[cut.entry] : Layout::unpack(s.running[cut.entry]);
        if (cut.missing_left) best.left += s.missing;
        best.certain = rows_known || enough_rows(node, best.left);
        if (node.hist == nullptr) best.first_right = first_right_of_compact(s, cut.entry);
        return best;
    }

    // Rows of weight 0 are none, unless rows count.
    Code first_right_of_compact(const Scratch& s, int64_t entry) const {
        int64_t next = entry + 1;
        while (next < s.view.n && params_.min_samples_leaf <= 1 && s.prefix[next] == s.prefix[entry]) ++next;
        return next < s.view.n ? s.view.codes[next] : s.view.codes[entry] + 1;
    }

    // counts: rows of each code where they decide, or null.
    void find_first_right(const NodeView<Layout>& node, int32_t feature, const int64_t* counts,
                          FeatureBest& best) const {
        const FeatureCodes& info = data_.feature(feature);
        if (info.categorical || best.first_right > 0) return;
        const Sum* hist = node.hist + info.first_bin;
        Code code = best.threshold + 1;
        while (code < info.n_bins && hist[code] == Sum{} && (counts == nullptr || counts[code] == 0)) ++code;
        best.first_right = code < info.n_bins ? code : best.threshold + 1;
    }

    // rows >= hessians / (largest hessian of a row)
    bool enough_rows(const NodeView<Layout>& node, const WideSum& left) const {
        if (params_.min_samples_leaf <= 1) return true;
        int64_t need = (params_.min_samples_leaf - 1) * scale_.hessian_step;
        return left.hessian > need && node.facts.total.hessian - left.hessian > need;
    }

    FeatureBest search_categories(const NodeView<Layout>& node, int32_t feature, const CutRule& rule, Scratch& s,
                                  bool rows_known) const {
        const FeatureCodes& info = data_.feature(feature);
        const Sum* sums = node.hist != nullptr ? node.hist + info.first_bin : s.bin_sums.data() + info.first_bin;
        bool compact = node.hist == nullptr;
        s.categories.clear();
        auto add = [&](Code code, int64_t rows) {
            WideSum sum = Layout::unpack(sums[code]);
            if (rows > 0 || sum != WideSum{})
                s.categories.push_back({code, sum, scale_.gradient_of(sum), scale_.hessian_of(sum), rows});
        };
        if (compact)
            for (int64_t i = 0; i < s.view.n; ++i) add(s.codes[i], s.rows[i] - (i > 0 ? s.rows[i - 1] : 0));
        else
            for (Code code = 0; code < info.n_bins; ++code) {
                int64_t rows = 0;
                if (s.view.rows != nullptr && params_.min_samples_leaf > 1)
                    rows = s.rows[code] - (code > 0 ? s.rows[code - 1] : 0);
                add(code, rows);
            }
        add(info.n_bins, s.view.missing_rows);
        if (s.categories.size() < 2) return {};
        FeatureBest best =
            CategoryFinder(rule, params_, rows_known && params_.min_samples_leaf > 1).find(s.categories, info.n_bins);
        best.certain = rows_known || enough_rows(node, best.left);
        return best;
    }

    // ---- the winner ----------------------------------------------------------------------------------------------

    double rounding_gain(const NodeView<Layout>& node) const {
        double score = node.facts.rule.score(scale_.gradient_of(node.facts.total), scale_.hessian_of(node.facts.total));
        return rounding_share * std::abs(score);
    }

    // The first feature of highest score, among those that gain more than `least`; −1 if none does. Scores get noise
    // that hangs on node and feature alone; the gain itself is what the tree keeps.
    int64_t best_scored(const std::vector<int32_t>& features, const std::vector<FeatureBest>& bests,
                        double FeatureBest::* score_of, double least, uint64_t noise_key) const {
        int64_t winner = -1;
        double highest = 0;
        for (size_t i = 0; i < bests.size(); ++i) {
            if (!(bests[i].gain > least)) continue;
            double score = bests[i].*score_of;
            if (params_.score_noise > 0) score += params_.score_noise * standard_normal(draw(noise_key, features[i]));
            if (winner >= 0 && !(score > highest)) continue;
            highest = score;
            winner = static_cast<int64_t>(i);
        }
        return winner;
    }

    Candidate to_candidate(const NodeView<Layout>& node, const std::vector<int32_t>& features,
                           std::vector<FeatureBest>& bests, Scratch& scratch) {
        double least = std::max(params_.min_gain, rounding_gain(node));
        for (;;) {
            int64_t winner = best_scored(features, bests, &FeatureBest::gain, least, node.noise_key);
            if (winner < 0) return {};
            if (bests[winner].certain || counts_enough_rows(node, features[winner], bests[winner])) {
                find_first_right(node, features[winner], nullptr, bests[winner]);
                return candidate_of(features[winner], bests[winner]);
            }
            count_rows(node, features[winner], scratch);
            load_dense(node, features[winner], scratch.counts.data(), scratch);
            bests[winner] = search_feature(node, features[winner], scratch, true);
            find_first_right(node, features[winner], scratch.counts.data(), bests[winner]);
        }
    }

    // Looks at rows until both sides of a cut have enough, which is soon unless one has hardly any. Declines to tell
    // where the code after the cut may have rows that the histogram does not show: all rows must be counted then.
    bool counts_enough_rows(const NodeView<Layout>& node, int32_t feature, const FeatureBest& best) const {
        const FeatureCodes& info = data_.feature(feature);
        if (info.categorical || best.threshold + 1 >= info.n_bins) return false;
        if (node.hist[info.first_bin + best.threshold + 1] == Sum{}) return false;
        int64_t rows[2] = {0, 0};
        for (int64_t i = 0; i < node.facts.n_rows; ++i) {
            Code code = data_.code(feature, node.entries[i].row);
            ++rows[code == info.n_bins ? best.missing_left : code <= best.threshold];
            if (rows[0] >= params_.min_samples_leaf && rows[1] >= params_.min_samples_leaf) return true;
        }
        return false;
    }

    void count_rows(const NodeView<Layout>& node, int32_t feature, Scratch& s) const {
        const FeatureCodes& info = data_.feature(feature);
        reserve(s, static_cast<int64_t>(info.n_bins) + 1);
        std::fill_n(s.counts.begin(), static_cast<int64_t>(info.n_bins) + 1, 0);
        for (int64_t i = 0; i < node.facts.n_rows; ++i) ++s.counts[data_.code(feature, node.entries[i].row)];
    }

    Candidate candidate_of(int32_t feature, const FeatureBest& best) const {
        Candidate candidate;
        candidate.gain = best.gain;
        candidate.left = best.left;
        Condition& condition = candidate.condition;
        condition.feature = feature;
        condition.missing_left = best.missing_left;
        // No row of the node lies between: any cut parts its rows alike, the middle is likely to be right for others.
        condition.threshold = best.threshold;
        if (best.first_right > best.threshold) condition.threshold += (best.first_right - 1 - best.threshold) / 2;
        condition.kind = ConditionKind::numeric;
        if (!data_.feature(feature).categorical) return candidate;
        condition.kind = ConditionKind::category;
        Code n_bins = data_.feature(feature).n_bins;
        condition.set.assign((n_bins + 31) / 32, 0);
        for (Code code : best.left_codes) {
            if (code == n_bins)
                condition.missing_left = true;
            else
                condition.put(code);
        }
        return candidate;
    }

    // ---- symmetric trees -----------------------------------------------------------------------------------------

    Level level_of(const std::vector<NodeView<Layout>>& nodes) const {
        Level level;
        Agreement agreement;
        for (const NodeView<Layout>& node : nodes) {
            const NodeFacts& facts = node.facts;
            level.least += rounding_gain(node);
            agreement.add(facts.rule, scale_.gradient_of(facts.total), scale_.hessian_of(facts.total));
        }
        level.least = std::max(level.least, params_.min_gain);
        level.cosine = agreement.cosine();
        return level;
    }

    FeatureBest search_shared(const std::vector<NodeView<Layout>>& nodes, const Level& level, int32_t feature,
                              Scratch& s) const {
        const FeatureCodes& info = data_.feature(feature);
        int64_t n = info.n_bins;
        reserve(s, n + 1);
        bool categorical = info.categorical;
        std::vector<Code> order = categorical ? category_order(nodes, feature) : std::vector<Code>{};
        bool any_missing = !categorical && std::any_of(nodes.begin(), nodes.end(), [&](const NodeView<Layout>& node) {
            return Layout::unpack(node.hist[info.first_bin + n]) != WideSum{};
        });
        clear_cuts(s.missing_right, n + 1);
        clear_cuts(s.missing_left, any_missing ? n + 1 : 0);
        for (const NodeView<Layout>& node : nodes) {
            CutRule rule = cut_rule(node.facts, scale_, params_, monotone(feature));
            if (categorical)
                load_ordered(node, feature, order, s);
            else
                load_dense(node, feature, nullptr, s);
            add_cuts(s, rule, false, s.missing_right);
            // Every node offers the same cuts, whether or not it has missing rows itself.
            if (any_missing) add_cuts(s, rule, s.view.has_missing, s.missing_left);
        }
        return best_shared(info, level, order, any_missing, s);
    }

    void clear_cuts(SharedCuts& cuts, int64_t n) const {
        cuts.gain.assign(n, 0.0);
        cuts.product.assign(params_.cosine ? n : 0, 0.0);
        cuts.square.assign(params_.cosine ? n : 0, 0.0);
    }

    void add_cuts(Scratch& s, const CutRule& rule, bool missing_left, SharedCuts& cuts) const {
        int64_t n = view_gains(s.view, missing_left, rule, s.gains.data());
        for (int64_t i = 0; i < n; ++i) cuts.gain[i] += s.gains[i] > -infinity ? s.gains[i] : 0.0;
        if (!params_.cosine) return;
        std::fill(s.gains.begin() + n, s.gains.begin() + s.view.n, -infinity);  // cuts that other nodes offer
        add_agreements(s.view, missing_left, rule, s.gains.data(), cuts.product.data(), cuts.square.data());
    }

    // What a cut adds to the cosine of the level: the differences that 17 bits must tell apart.
    static double cosine_gain(const SharedCuts& cuts, int64_t i, const Level& level) {
        return comparable(Agreement{cuts.product[i], cuts.square[i]}.cosine() - level.cosine);
    }

    static int64_t first_cosine(const SharedCuts& cuts, int64_t n, const Level& level) {
        int64_t first = -1;
        double highest = -infinity;
        for (int64_t i = 0; i < n; ++i) {
            if (!(comparable(cuts.gain[i]) > level.least)) continue;
            double score = cosine_gain(cuts, i, level);
            if (!(score > highest)) continue;
            highest = score;
            first = i;
        }
        return first;
    }

    FeatureBest best_shared(const FeatureCodes& info, const Level& level, const std::vector<Code>& order,
                            bool any_missing, const Scratch& s) const {
        FeatureBest best;
        int64_t winner = -1;
        const int64_t n_bins = info.n_bins;
        for (bool missing_left : {false, true}) {
            if (missing_left && !any_missing) break;
            const SharedCuts& cuts = missing_left ? s.missing_left : s.missing_right;
            int64_t n = info.categorical ? static_cast<int64_t>(order.size()) - 1
                                         : n_bins - (missing_left || !any_missing ? 1 : 0);
            if (n <= 0) continue;
            int64_t entry = params_.cosine ? first_cosine(cuts, n, level) : first_maximum(cuts.gain.data(), n);
            if (entry < 0) continue;
            double gain = comparable(cuts.gain[entry]);
            double score = params_.cosine ? cosine_gain(cuts, entry, level) : gain;
            if (!(score > best.score)) continue;
            best.gain = gain;
            best.score = score;
            best.missing_left = missing_left;
            winner = entry;
        }
        if (winner < 0) return best;
        if (info.categorical)
            best.left_codes.assign(order.begin(), order.begin() + winner + 1);
        else
            best.threshold = static_cast<Code>(winner);
        return best;
    }

    // Categories of a level by gradient / (hessian + smoothing) over all its nodes, rare ones apart; missing is one of
    // them.
    std::vector<Code> category_order(const std::vector<NodeView<Layout>>& nodes, int32_t feature) const {
        const FeatureCodes& info = data_.feature(feature);
        std::vector<WideSum> sums(static_cast<size_t>(info.n_bins) + 1);
        for (const NodeView<Layout>& node : nodes)
            for (size_t code = 0; code < sums.size(); ++code)
                sums[code] += Layout::unpack(node.hist[info.first_bin + static_cast<int64_t>(code)]);
        CutRule level{};
        level.min_rows = static_cast<double>(params_.min_samples_leaf);
        for (const NodeView<Layout>& node : nodes) {
            level.hessian += scale_.hessian_of(node.facts.total);
            level.n_rows += static_cast<double>(node.facts.n_rows);
        }
        std::vector<Code> order;
        for (Code code = 0; code <= info.n_bins; ++code)
            if (sums[code] != WideSum{} && !level.is_rare(scale_.hessian_of(sums[code]))) order.push_back(code);
        auto key = [&](Code code) {
            return scale_.gradient_of(sums[code]) / (scale_.hessian_of(sums[code]) + params_.category_smoothing);
        };
        std::sort(order.begin(), order.end(),
                  [&](Code a, Code b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
        return order;
    }

    void load_ordered(const NodeView<Layout>& node, int32_t feature, const std::vector<Code>& order, Scratch& s) const {
        const Sum* hist = node.hist + data_.feature(feature).first_bin;
        Sum running{};
        for (size_t i = 0; i < order.size(); ++i) {
            running += hist[order[i]];
            WideSum sum = Layout::unpack(running);
            s.gradient[i] = scale_.gradient_of(sum);
            s.hessian[i] = scale_.hessian_of(sum);
        }
        s.missing = {};
        finish_view(s, static_cast<int64_t>(order.size()), nullptr, false, 0);
    }

    const BinnedData& data_;
    const LaneScale& scale_;
    const TreeParams& params_;
    std::vector<Scratch> scratch_;
};

}  // namespace arboretum
