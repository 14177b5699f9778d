// The best cut of a node, looked for in a few features of its rows.
//
// One feature of a node becomes a short list, a sum for each code that occurs, rising:
//
//   codes   3      7      8     …   (missing apart)
//   sums    [··]   [··]   [··]
//
// filled by the way that is cheapest for the node:
//   many rows     a histogram over all bins, read whole
//   few rows      the same histogram with one bit per bin that is used: reading and clearing cost only those
//   many bins     (row, code) pairs sorted by code, here or before (node_rows.hpp: Ordered)
#pragma once

#include <algorithm>
#include <bit>

#include "base/rng.hpp"
#include "data/binned_data.hpp"
#include "grow/impurity/cuts.hpp"
#include "grow/impurity/impurity.hpp"
#include "grow/impurity/node_rows.hpp"
#include "grow/impurity/row_groups.hpp"

namespace arboretum {

template <class Statistics, class Rows>
class NodeSearch {
  public:
    using Entry = typename Rows::Entry;
    using Word = typename Statistics::Word;
    using Gain = typename Statistics::Gain;

    struct Node {
        const Entry* entries;
        int64_t n_rows;
        const Word* total;
        Bounds bounds;
        uint64_t path;  // what random draws of the node depend on
    };

    NodeSearch(const BinnedData& data, const Rows& rows, const Statistics& statistics, const SplitRules& rules,
               const CodeEdges& edges, double weight_scale)
        : data_(data),
          rows_(rows),
          statistics_(statistics),
          rules_(rules),
          edges_(edges),
          weight_scale_(weight_scale),
          has_limits_(rules.min_samples_leaf > 1 || rules.min_weight_leaf > 0 || !rules.monotone.empty()),
          left_(statistics.zero()),
          right_(statistics.zero()) {}

    // The best cut of some features, if it beats `best`.
    void offer_features(const int32_t* features, int n, const Node& node, const Gain& gain, Cut& best) {
        if constexpr (RanksRows<Statistics>) ranking_.rank(statistics_, node.entries, node.n_rows);
        if (rules_.random_thresholds) return offer_random_features(features, n, node, gain, best);
        for (int i = 0; i < n; ++i) offer_feature(features[i], node, gain, best);
    }

    // Where the cuts of one feature are offered.
    struct Offer {
        NodeSearch& search;
        const Node& node;
        const Gain& gain;
        Cut& best;
        int32_t feature;

        // A gain that costs much is asked for last, and told what it must pass.
        [[gnu::always_inline]] bool operator()(const Word* left) const {
            if constexpr (requires { gain(left, best.bar); })
                return search.allowed(left, node, feature) && (*this)(left, gain(left, best.bar));
            else
                return (*this)(left, gain(left));
        }
        [[gnu::always_inline]] bool operator()(const Word* left, double found) const {
            if (!(found > best.bar) || !search.allowed(left, node, feature)) return false;
            best.gain = found;
            best.bar = bar_above(found);
            return true;
        }
        void take(ConditionKind kind, Code threshold, bool missing_left, double value) const {
            best.condition.kind = kind;
            best.condition.feature = feature;
            best.condition.threshold = threshold;
            best.condition.missing_left = missing_left;
            best.condition.set.clear();
            best.threshold = value;
        }
    };

  private:
    void offer_feature(int32_t feature, const Node& node, const Gain& gain, Cut& best) {
        const FeatureCodes& info = data_.feature(feature);
        Offer offer{*this, node, gain, best, feature};
        if constexpr (has_pair_gains)
            if (!(info.categorical || info.has_missing || rules_.random_thresholds || has_limits_))
                return offer_pairs(offer);
        fill(feature, node);
        const int64_t n_sides = n_ + (has_missing_ ? 1 : 0);
        if (n_sides < 2) return;
        if constexpr (RanksRows<Statistics>)
            offer_ranked(offer);
        else if (info.categorical)
            offer_categories(offer);
        else if (rules_.random_thresholds)
            offer_random(offer);
        else
            offer_thresholds(offer);
    }

    // ---- codes of a node's rows ---------------------------------------------------------------------------------

    int words() const { return statistics_.words(); }

    // The list of a feature's codes and their sums.
    void fill(int32_t feature, const Node& node) {
        const int64_t n_codes = rows_.n_codes(feature);
        n_ = 0;
        rows_.with_codes(feature, [&](auto code_of) {
            if (RanksRows<Statistics> || needs_sorting(n_codes, node))
                fill_sorted(feature, code_of, node);
            else
                read_bins(code_of, n_codes, node, [&](Code code, const Word* bin) { put(code, bin); });
        });
        has_missing_ = n_ > 0 && codes_[n_ - 1] == static_cast<Code>(n_codes - 1);
        if (has_missing_) --n_;
    }

    static bool needs_sorting(int64_t n_codes, const Node& node) {
        return Rows::is_ordered || (n_codes > 256 && 4 * node.n_rows < n_codes);
    }

    void reserve(int64_t n) {
        if (static_cast<int64_t>(codes_.size()) >= n) return;
        codes_.resize(n);
        sums_.resize(n * words());
    }

    Word* histogram(int64_t n_codes) {
        if (static_cast<int64_t>(histogram_.size()) < n_codes * words()) histogram_.resize(n_codes * words(), 0);
        reserve(n_codes);
        return histogram_.data();
    }

    [[gnu::always_inline]] void put(Code code, const Word* bin) {
        codes_[n_] = code;
        for (int k = 0; k < words(); ++k) sums_[n_ * words() + k] = bin[k];
        ++n_;
    }

    // Sums up the rows by code; take(code, sum) for every code that occurs, rising.
    template <class CodeOf, class Take>
    void read_bins(CodeOf code_of, int64_t n_codes, const Node& node, Take&& take) {
        Word* bins = histogram(n_codes);
        auto move_bin = [&](int64_t code) {
            Word* bin = bins + code * words();
            take(static_cast<Code>(code), bin);
            for (int k = 0; k < words(); ++k) bin[k] = 0;
        };
        if (node.n_rows >= n_codes) {
            for (int64_t i = 0; i < node.n_rows; ++i)
                statistics_.add(node.entries[i], bins + static_cast<int64_t>(code_of(node.entries[i])) * words());
            for (int64_t code = 0; code < n_codes; ++code)
                if (statistics_.rows(bins + code * words()) != 0) move_bin(code);
            return;
        }
        const int64_t n_masks = (n_codes + 63) / 64;
        if (static_cast<int64_t>(used_.size()) < n_masks) used_.resize(n_masks);
        uint64_t* used = used_.data();
        std::fill_n(used, n_masks, 0);
        for (int64_t i = 0; i < node.n_rows; ++i) {
            const int64_t code = code_of(node.entries[i]);
            used[code >> 6] |= uint64_t{1} << (code & 63);
            statistics_.add(node.entries[i], bins + code * words());
        }
        for (int64_t m = 0; m < n_masks; ++m)
            for (uint64_t bits = used[m]; bits != 0; bits &= bits - 1) move_bin(m * 64 + std::countr_zero(bits));
    }

    // The node's rows by rising codes: │ code │ number of the row │, and what is numbered.
    template <class CodeOf>
    auto sorted_rows(int32_t feature, CodeOf code_of, const Node& node) {
        if constexpr (Rows::is_ordered) {
            return std::pair(rows_.keys(feature, node.entries), rows_.stats());
        } else {
            keys_.resize(node.n_rows);
            for (int64_t i = 0; i < node.n_rows; ++i)
                keys_[i] = static_cast<uint64_t>(code_of(node.entries[i])) << 32 | i;
            sort_keys(keys_, other_keys_);  // pairs of one code in any order: their sum is the same
            return std::pair<const uint64_t*, const Entry*>(keys_.data(), node.entries);
        }
    }

    // As read_bins, where bins are too many.
    template <class CodeOf, class Take>
    void read_sorted(int32_t feature, CodeOf code_of, const Node& node, Take&& take) {
        const auto [keys, rows] = sorted_rows(feature, code_of, node);
        typename Statistics::Sum sum = statistics_.zero();
        for (int64_t i = 0; i < node.n_rows; ++i) {
            statistics_.add(rows[keys[i] & 0xffffffffu], sum.data());
            const Code code = static_cast<Code>(keys[i] >> 32);
            if (i + 1 < node.n_rows && code == static_cast<Code>(keys[i + 1] >> 32)) continue;
            take(code, sum.data());
            sum = statistics_.zero();
        }
    }

    template <class CodeOf>
    void fill_sorted(int32_t feature, CodeOf code_of, const Node& node) {
        const auto [keys, rows] = sorted_rows(feature, code_of, node);
        const int64_t n = node.n_rows;
        reserve(n);
        if constexpr (RanksRows<Statistics>) groups_.start.clear();
        for (int64_t i = 0; i < n; ++i) {
            const Code code = static_cast<Code>(keys[i] >> 32);
            if (n_ == 0 || codes_[n_ - 1] != code) {
                if constexpr (RanksRows<Statistics>) groups_.start.push_back(i);
                codes_[n_] = code;
                std::fill_n(&sums_[n_ * words()], words(), Word{0});
                ++n_;
            }
            statistics_.add(rows[keys[i] & 0xffffffffu], &sums_[(n_ - 1) * words()]);
        }
        if constexpr (RanksRows<Statistics>) {
            groups_.start.push_back(n);
            groups_.members.assign(keys, keys + n);  // the lower halves
        }
    }

    // ---- cuts ----------------------------------------------------------------------------------------------------

    bool allowed(const Word* left, const Node& node, int32_t feature) {
        if (rules_.min_samples_leaf > 1) {
            const int64_t rows = statistics_.rows(left);
            if (std::min(rows, node.n_rows - rows) < rules_.min_samples_leaf) return false;
        }
        if (rules_.min_weight_leaf > 0) {
            const double weight = statistics_.weight(left), least = rules_.min_weight_leaf * weight_scale_;
            if (std::min(weight, statistics_.weight(node.total) - weight) < least) return false;
        }
        return rules_.monotone.empty() || in_order(left, node, rules_.monotone[feature]);
    }

    bool in_order(const Word* left, const Node& node, int direction) {
        if constexpr (requires { statistics_.value(left); }) {
            std::copy_n(node.total, words(), right_.data());
            for (int k = 0; k < words(); ++k) right_[k] -= left[k];
            const double a = statistics_.value(left), b = statistics_.value(right_.data());
            return std::min(a, b) >= node.bounds.lower && std::max(a, b) <= node.bounds.upper &&
                   (direction == 0 || (direction > 0 ? a <= b : a >= b));
        }
        return true;
    }

    const Word* missing() const { return &sums_[n_ * words()]; }

    [[gnu::always_inline]] void add_to(Word* left, const Word* sum) const {
        for (int k = 0; k < words(); ++k) left[k] += sum[k];
    }

    void offer_thresholds(const Offer& offer) {
        for (bool missing_left : {false, true}) {
            if (missing_left && !has_missing_) break;
            left_ = statistics_.zero();
            Word* left = left_.data();
            if (missing_left) add_to(left, missing());
            int64_t taken = -1;
            for (int64_t i = 0; i + 1 < n_; ++i) {
                add_to(left, &sums_[i * words()]);
                if (offer(left)) taken = i;
            }
            if (taken >= 0) take_threshold(offer, taken, missing_left);
        }
        if (has_missing_ && n_ > 0) offer_only_missing(offer);
    }

    // Thresholds of a number without missing values, if sums tell the gain and no limit forbids a cut: left sides first,
    // then all their gains at once.
    void offer_pairs(const Offer& offer) {
        const Node& node = offer.node;
        const int64_t n_codes = rows_.n_codes(offer.feature);
        typename Statistics::Sum left = statistics_.zero();
        const bool sorts = needs_sorting(n_codes, node);
        const int64_t most = sorts ? node.n_rows : n_codes;
        if (static_cast<int64_t>(weights_.size()) < most)
            weights_.resize(most), totals_.resize(most), gains_.resize(most);
        reserve(most);  // as much as reading asks for, so that `codes` stays valid
        Code* codes = codes_.data();
        double *weights = weights_.data(), *totals = totals_.data();
        int64_t n = 0;
        auto take = [&](Code code, const Word* sum) {
            add_to(left.data(), sum);
            codes[n] = code;
            weights[n] = statistics_.weight(left.data());
            totals[n] = statistics_.total(left.data());
            ++n;
        };
        rows_.with_codes(offer.feature, [&](auto code_of) {
            if (sorts)
                read_sorted(offer.feature, code_of, node, take);
            else
                read_bins(code_of, n_codes, node, take);
        });
        if (n < 2 || !offer.gain.pair.any_above(offer.best.bar, weights, totals, n - 1, gains_.data())) return;
        int64_t taken = 0;
        for (int64_t i = 0; i + 1 < n; ++i)
            if (gains_[i] > offer.best.bar) {
                offer.best.gain = gains_[i];
                offer.best.bar = bar_above(gains_[i]);
                taken = i;
            }
        take_threshold(offer, taken, false);
    }

    void take_threshold(const Offer& offer, int64_t i, bool missing_left) {
        offer.take(ConditionKind::numeric, codes_[i], missing_left,
                   edges_.between(offer.feature, table_code(offer, i), table_code(offer, i + 1)));
    }

    Code table_code(const Offer& offer, int64_t i) const { return rows_.table_code(offer.feature, codes_[i]); }

    // All values left, missing right.
    void offer_only_missing(const Offer& offer) {
        std::copy_n(offer.node.total, words(), left_.data());
        for (int k = 0; k < words(); ++k) left_[k] -= missing()[k];
        if (offer(left_.data())) offer.take(ConditionKind::numeric, rows_.n_codes(offer.feature) - 2, false, infinity);
    }

    void offer_random(const Offer& offer) {
        const uint64_t bits = random_cut_bits(offer.node.path, offer.feature);
        const bool missing_left = has_missing_ && (bits & 1) != 0;
        if (n_ < 2) return offer_only_missing(offer);
        const double t = random_threshold(edges_, offer.feature, codes_[0], codes_[n_ - 1], bits);
        left_ = statistics_.zero();
        if (missing_left) add_to(left_.data(), missing());
        int64_t last = 0;
        add_to(left_.data(), &sums_[0]);
        while (last + 2 < n_ && edges_.middle(offer.feature, codes_[last + 1]) <= t)
            add_to(left_.data(), &sums_[++last * words()]);
        if (offer(left_.data())) take_random(offer, codes_[last], codes_[last + 1], missing_left, t);
    }

    struct RandomCut {
        int32_t feature;
        Code code;  // rows up to it go left
        double threshold;
    };

    // Numeric features without missing values need no list of sums: their range, then the rows below the threshold.
    void offer_random_features(const int32_t* features, int n, const Node& node, const Gain& gain, Cut& best) {
        auto is_plain = [&](int32_t feature) {
            const FeatureCodes& info = data_.feature(feature);
            return !(info.categorical || info.has_missing || RanksRows<Statistics>);
        };
        random_.clear();
        if constexpr (Rows::travels) Rows::ranges(node.entries, node.n_rows, least_, most_);
        for (int i = 0; i < n; ++i)
            if (is_plain(features[i])) draw_cut(features[i], node);
        sum_random(node);
        random_sums_.assign(sums_.begin(), sums_.begin() + static_cast<int64_t>(random_.size()) * words());
        const RandomCut* winner = nullptr;
        size_t next = 0;
        for (int i = 0; i < n; ++i)  // offered in their order: the first of two that tie stays
            if (!is_plain(features[i])) {
                const double bar = best.bar;
                offer_feature(features[i], node, gain, best);
                if (best.bar != bar) winner = nullptr;
            } else if (next < random_.size() && random_[next].feature == features[i]) {
                if (Offer{*this, node, gain, best, features[i]}(&random_sums_[next * words()])) winner = &random_[next];
                ++next;
            }
        if (winner != nullptr)
            take_random({*this, node, gain, best, winner->feature}, winner->code, winner->code + 1, false,
                        winner->threshold);
    }

    void draw_cut(int32_t feature, const Node& node) {
        Code least, most;
        if constexpr (Rows::travels) {
            least = least_[rows_.place(feature)];
            most = most_[rows_.place(feature)];
        } else {
            rows_.with_codes(feature, [&](auto code_of) {
                least = most = code_of(node.entries[0]);
                for (int64_t i = 1; i < node.n_rows; ++i) {
                    const Code code = code_of(node.entries[i]);
                    least = std::min(least, code);
                    most = std::max(most, code);
                }
            });
        }
        if (least == most) return;
        const double t = random_threshold(edges_, feature, least, most, random_cut_bits(node.path, feature));
        random_.push_back({feature, edges_.last_up_to(feature, least, most, t), t});
    }

    // Sums of the rows left of each random cut; if rows carry their codes, several cuts in one pass.
    void sum_random(const Node& node) {
        const int n = static_cast<int>(random_.size());
        reserve(n);
        if constexpr (Rows::travels && is_small) {
            int k = 0;
            for (; k + 5 <= n; k += 5) sum_cuts<5>(node, k);
            for (; k + 2 <= n; k += 2) sum_cuts<2>(node, k);
            if (k < n) sum_cuts<1>(node, k);
        } else {
            for (int k = 0; k < n; ++k)
                rows_.with_codes(random_[k].feature, [&](auto code_of) {
                    left_ = statistics_.zero();
                    for (int64_t i = 0; i < node.n_rows; ++i)
                        statistics_.add_if(code_of(node.entries[i]) <= random_[k].code, node.entries[i], left_.data());
                    std::copy_n(left_.data(), words(), &sums_[k * words()]);
                });
        }
    }

    // Sums of n cuts from the first on, in registers.
    template <int n>
    void sum_cuts(const Node& node, int first) {
        int place[n];
        Code cut[n];
        typename Statistics::Sum sum[n] = {};
        for (int k = 0; k < n; ++k) {
            place[k] = rows_.place(random_[first + k].feature);
            cut[k] = random_[first + k].code;
        }
        for (const Entry *e = node.entries, *end = e + node.n_rows; e != end; ++e)
            for (int k = 0; k < n; ++k) statistics_.add_if(e->codes[place[k]] <= cut[k], *e, sum[k].data());
        for (int k = 0; k < n; ++k) std::copy_n(sum[k].data(), words(), &sums_[(first + k) * words()]);
    }

    // below, above: codes of rows on either side of t.
    void take_random(const Offer& offer, Code below, Code above, bool missing_left, double t) {
        const Code code = edges_.last_up_to(offer.feature, below, above, t);
        offer.take(ConditionKind::numeric, code, missing_left, edges_.cut_after(offer.feature, code, t));
    }

    // ---- categories ----------------------------------------------------------------------------------------------

    // For two classes, and for a number, the best of all subsets is a prefix of the categories in the order of their
    // means (Fisher 1958; Breiman et al. 1984, theorem 4.5). For more, prefixes of one order per class are tried.
    // Missing is a category like any other.
    void offer_categories(const Offer& offer) {
        if (rules_.random_thresholds) {
            order_randomly(offer);
            return offer_prefixes(offer, random_prefix(offer));
        }
        for (int k = 0; k < statistics_.n_orders(); ++k) {
            order_by_mean(offer, k);
            offer_prefixes(offer, -1);
        }
    }

    int64_t n_groups() const { return n_ + (has_missing_ ? 1 : 0); }

    // Equal means in the order of the categories' values: codes depend on the rows.
    void order_by_mean(const Offer& offer, int k) {
        order_.resize(n_groups());
        ties_.resize(n_groups());
        for (int64_t i = 0; i < n_groups(); ++i) {
            order_[i] = {order_key(i, k), i};
            ties_[i] = edges_.key(offer.feature, table_code(offer, i));
        }
        sort_groups(order_, ties_);
    }

    double order_key(int64_t group, int k) const {
        if constexpr (requires { ranking_.order_key(groups_[group]); })
            return ranking_.order_key(groups_[group]);
        else
            return statistics_.order_key(&sums_[group * words()], k);
    }

    void order_randomly(const Offer& offer) {
        order_.resize(n_groups());
        for (int64_t i = 0; i < n_groups(); ++i)
            order_[i] = {unit(draw(offer.node.path, offer.feature, edges_.key(offer.feature, table_code(offer, i)))),
                         i};
        sort_groups(order_, {});
    }

    int64_t random_prefix(const Offer& offer) const {
        const uint64_t bits = draw(offer.node.path, 0x7365740000 + static_cast<uint64_t>(offer.feature));  // "set"
        return static_cast<int64_t>(unit(bits) * static_cast<double>(n_groups() - 1));
    }

    // only: the one prefix to offer, −1 for all.
    void offer_prefixes(const Offer& offer, int64_t only) {
        left_ = statistics_.zero();
        int64_t taken = -1;
        for (int64_t i = 0; i + 1 < n_groups(); ++i) {
            add_to(left_.data(), &sums_[order_[i].second * words()]);
            if ((only < 0 || i == only) && offer(left_.data())) taken = i;
        }
        if (taken >= 0) take_prefix(offer, taken);
    }

    // The lighter side goes left: all categories that the node does not know go right, to the larger child. By weight,
    // not rows: a row of weight 3 is three rows.
    void take_prefix(const Offer& offer, int64_t last) {
        const Code n_bins = data_.feature(offer.feature).n_bins;
        offer.take(ConditionKind::category, 0, false, 0);
        Condition& condition = offer.best.condition;
        condition.set.assign((n_bins + 31) / 32, 0);
        double prefix = 0, rest = 0;
        for (int64_t i = 0; i < n_groups(); ++i)
            (i <= last ? prefix : rest) += statistics_.weight(&sums_[order_[i].second * words()]);
        const int64_t begin = prefix <= rest ? 0 : last + 1, end = prefix <= rest ? last + 1 : n_groups();
        for (int64_t i = begin; i < end; ++i) {
            const Code code = table_code(offer, order_[i].second);
            if (code == n_bins)
                condition.missing_left = true;
            else
                condition.put(code);
        }
    }

    // ---- gains that sums do not tell -----------------------------------------------------------------------------

    void offer_ranked(const Offer& offer) {
        const bool categorical = data_.feature(offer.feature).categorical;
        if (categorical) {
            if (rules_.random_thresholds)
                order_randomly(offer);
            else
                order_by_mean(offer, 0);
            const int64_t taken = offer_ranked_prefixes(offer, rules_.random_thresholds ? random_prefix(offer) : -1);
            if (taken >= 0) take_prefix(offer, taken);
            return;
        }
        const uint64_t bits = random_cut_bits(offer.node.path, offer.feature);
        for (bool missing_left : {false, true}) {
            if (missing_left && !has_missing_) break;
            // A random cut draws the side of missing values; without two values, only they can be cut off.
            if (rules_.random_thresholds && has_missing_ && missing_left != (n_ >= 2 && (bits & 1) != 0)) continue;
            order_.clear();
            if (missing_left) order_.push_back({0.0, n_});
            for (int64_t i = 0; i < n_; ++i) order_.push_back({0.0, i});
            if (has_missing_ && !missing_left) order_.push_back({0.0, n_});
            const int64_t first = missing_left ? 1 : 0;  // place of the first value
            int64_t only = -1;
            double t = 0;
            if (rules_.random_thresholds && n_ < 2) {
                only = 0;
            } else if (rules_.random_thresholds) {
                t = random_threshold(edges_, offer.feature, codes_[0], codes_[n_ - 1], bits);
                only = first;
                while (only + 2 < first + n_ && edges_.middle(offer.feature, codes_[only - first + 1]) <= t) ++only;
            }
            const int64_t taken = offer_ranked_prefixes(offer, only) - first;
            if (taken < 0) continue;
            if (taken == n_ - 1)
                offer.take(ConditionKind::numeric, rows_.n_codes(offer.feature) - 2, false, infinity);
            else if (only >= 0)
                take_random(offer, codes_[taken], codes_[taken + 1], missing_left, t);
            else
                take_threshold(offer, taken, missing_left);
        }
    }

    // The best prefix of order_, −1 if none beats what there is.
    int64_t offer_ranked_prefixes(const Offer& offer, int64_t only) {
        ranking_.prefix_gains(groups_, order_, gains_);
        left_ = statistics_.zero();
        int64_t taken = -1;
        for (int64_t i = 0; i + 1 < n_groups(); ++i) {
            add_to(left_.data(), &sums_[order_[i].second * words()]);
            if ((only < 0 || i == only) && offer(left_.data(), gains_[i])) taken = i;
        }
        return taken;
    }

    const BinnedData& data_;
    const Rows& rows_;
    const Statistics& statistics_;
    const SplitRules& rules_;
    const CodeEdges& edges_;
    double weight_scale_;
    const bool has_limits_;  // whether cuts may be forbidden

    static constexpr bool is_small = std::is_trivially_copyable_v<typename Statistics::Sum>;
    static constexpr bool has_pair_gains = !RanksRows<Statistics> && requires(Gain gain) { gain.pair; };

    int64_t n_ = 0;  // codes that occur, missing not counted
    bool has_missing_ = false;
    std::vector<Code> codes_;
    std::vector<Word> sums_, histogram_;
    typename Statistics::Sum left_, right_;
    std::vector<uint64_t> used_, keys_, other_keys_, ties_;
    GroupOrder order_;
    std::vector<RandomCut> random_;
    std::vector<Word> random_sums_;
    typename RankingOf<Statistics>::type ranking_;
    RowGroups groups_;                              // of statistics with a ranking
    std::vector<double> weights_, totals_, gains_;  // of the left sides of cuts
    uint8_t least_[64], most_[64];
};

}  // namespace arboretum
