#include "grow/gradient/search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/parallel.hpp"
#include "base/rng.hpp"

namespace arboretum {

SplitSearch::SplitSearch(const BinnedData& data, const LaneScale& scale, const TreeParams& params, TreeRows& rows,
                         int threads)
    : data_(data), scale_(scale), params_(params), rows_(rows), scratch_(threads), spare_bests_(threads) {
    for (int i = 0; i < threads; ++i) scratch_[i].thread = i;
}

void SplitSearch::search(std::span<const Searched> nodes, int worker, int threads) {
    std::vector<Part> parts;
    for (const Searched& searched : nodes) {
        std::vector<FeatureBest>& bests = searched.contest->bests;
        if (!bests.empty()) continue;
        if (auto& spare = spare_bests_[worker]; !spare.empty()) {
            bests.swap(spare.back());
            spare.pop_back();
        }
        bests.resize(searched.node.features->size());
        for_each_part(searched, threads, [&](const Part& part) {
            if (threads == 1)
                search_part(part, scratch_[worker]);
            else
                parts.push_back(part);
        });
    }
    parallel_for(static_cast<int64_t>(parts.size()), threads,
                 [&](int64_t i, int inner) { search_part(parts[i], scratch_[inner]); });
}

// Compact blocks first: those of listed rows are one long part, since a row's list is read as a whole.
template <class Visit>
void SplitSearch::for_each_part(const Searched& searched, int threads, Visit&& visit) const {
    auto cut = [&](bool dense, int64_t first, int64_t last, int64_t size) {
        for (int64_t begin = first; begin < last; begin += size)
            visit({&searched, dense, begin, std::min(last, begin + size)});
    };
    const int32_t n_dense = searched.node.n_dense;
    const auto n_blocks = static_cast<int64_t>(data_.blocks().size()), n_compact = n_blocks - n_dense;
    const auto n_features = static_cast<int64_t>(searched.node.features->size());
    const bool whole = threads == 1 || data_.is_listed();
    cut(false, n_dense, n_blocks, std::max<int64_t>(1, whole ? n_compact : n_compact / (4 * threads)));
    if (n_dense > 0) cut(true, 0, n_features, std::max(feature_chunk, n_features / (16 * threads)));
}

void SplitSearch::search_part(const Part& part, Scratch& s) const {
    const NodeView& node = part.of->node;
    const CutRule plain = cut_rule(node.facts, scale_, params_, 0);
    if (part.dense)
        search_dense(node, part.begin, part.end, plain, s, part.of->contest->bests);
    else
        search_compact(node, static_cast<int32_t>(part.begin), static_cast<int32_t>(part.end), plain, s,
                       part.of->contest->bests);
}

Candidate SplitSearch::decide(const NodeView& node, Contest& contest, int worker) {
    Candidate found = to_candidate(node, contest, scratch_[worker]);
    if (contest.uncounted.empty()) spare_bests_[worker].push_back(std::exchange(contest.bests, {}));
    return found;
}

void SplitSearch::search_dense(const NodeView& node, int64_t begin, int64_t end, const CutRule& rule, Scratch& s,
                               std::vector<FeatureBest>& bests) const {
    s.together.clear();
    s.places.clear();
    const bool all_dense = node.n_dense == static_cast<int32_t>(data_.blocks().size());
    for (int64_t i = begin; i < end; ++i) {
        const int32_t feature = (*node.features)[i];
        if (!all_dense && !is_dense(node, feature)) continue;
        if (data_.feature(feature).n_bins <= narrow_bins && is_plain(feature, rule)) {
            s.together.push_back(feature);
            s.places.push_back(i);
            continue;
        }
        const int64_t* counts = listed_counts(node, feature, s);
        load_dense(node, feature, counts, s);
        bests[i] = search_feature(node, feature, rule, s, scale_.hessian_counts_rows || counts != nullptr);
    }
    search_together(node, true, rule, s, bests);
}

void SplitSearch::search_compact(const NodeView& node, int32_t first_block, int32_t last_block, const CutRule& rule,
                                 Scratch& s, std::vector<FeatureBest>& bests) const {
    rows_.gather(node.rows, first_block, last_block, s.thread, s.used);
    s.together.clear();
    s.places.clear();
    const bool all_blocks = first_block == 0 && last_block == static_cast<int32_t>(data_.blocks().size());
    auto is_wanted = [&](int32_t block) { return first_block <= block && block < last_block; };
    for (size_t i = 0; i < bests.size(); ++i) {
        const int32_t feature = (*node.features)[i];
        if (!all_blocks && !is_wanted(block_of(feature))) continue;
        if (is_plain(feature, rule)) {
            s.together.push_back(feature);
            s.places.push_back(static_cast<int64_t>(i));
            continue;
        }
        load_compact(feature, s);
        bests[i] = search_feature(node, feature, rule, s, true);
    }
    search_together(node, false, rule, s, bests);
    rows_.clear_gathered(s.thread, s.used);
}

bool SplitSearch::is_plain(int32_t feature, const CutRule& rule) const {
    const FeatureCodes& info = data_.feature(feature);
    return !info.categorical && !info.has_missing && monotone(feature) == 0 && !rule.leaf.bounds.any();
}

int64_t SplitSearch::load_together(const NodeView& node, bool dense, Scratch& s) const {
    s.ends.resize(s.together.size());
    if (!dense) {
        rows_.load_gathered(s.together, s.thread, s.used, s.sums, s.ends.data());
        return s.ends.back();
    }
    const int64_t n = rows_.load_cuts(node.hist, s.together, s.thread, s.sums);
    int64_t end = 0;
    for (size_t i = 0; i < s.ends.size(); ++i) s.ends[i] = end += n_cuts(data_.feature(s.together[i]));
    if (const uint32_t* counts = rows_.rows_by_bin(node.hist); counts != nullptr)
        add_up_rows(counts, s.together, s.sums.rows.data());
    return n;
}

void SplitSearch::search_together(const NodeView& node, bool dense, const CutRule& rule, Scratch& s,
                                  std::vector<FeatureBest>& bests) const {
    if (s.together.empty()) return;
    const int64_t n = load_together(node, dense, s);
    reserve(s, n);
    cut_gains(s.sums.gradient.data(), s.sums.hessian.data(), n, 0, 0, rule, s.gains.data());
    const bool rows_known = !dense || scale_.hessian_counts_rows || rows_.rows_by_bin(node.hist) != nullptr;
    if (rows_known && rule.min_rows > 1) {
        finish_view(s, n, nullptr, !dense || rows_.rows_by_bin(node.hist) != nullptr, 0);
        for (int64_t i = 0; i < n; ++i) {
            const double left = s.view.rows_up_to(i);
            if (std::min(left, rule.n_rows - left) < rule.min_rows - 0.5) s.gains[i] = -infinity;
        }
    }
    int64_t begin = 0;
    for (size_t f = 0; f < s.together.size(); ++f) {
        FeatureBest& best = bests[s.places[f]];
        best = {};
        int32_t highest = 0;
        int64_t entry = -1;
        const int64_t end = s.ends[f], last_cut = dense ? end : end - 1;
        for (int64_t i = begin; i < last_cut; ++i) {
            const int32_t key = gain_key(s.gains[i]);
            if (key > highest) highest = key, entry = i;
        }
        if (entry >= 0) {
            best.gain = comparable(s.gains[entry]);
            best.threshold = dense ? static_cast<Code>(entry - begin) : s.sums.codes[entry];
            best.left = rows_.loaded(entry, s.thread);
            best.certain = rows_known || enough_rows(node, best.left);
            if (!dense) best.first_right = first_right_of_compact(node, best.left, s, entry, end);
        }
        begin = end;
    }
}

void SplitSearch::add_up_rows(const uint32_t* counts, std::span<const int32_t> features, int64_t* rows) const {
    for (int32_t feature : features) {
        const FeatureCodes& info = data_.feature(feature);
        int64_t running = 0;
        for (int64_t i = 0; i < n_cuts(info); ++i) *rows++ = running += counts[info.first_bin + i];
    }
}

const int64_t* SplitSearch::listed_counts(const NodeView& node, int32_t feature, Scratch& s) const {
    const uint32_t* counts = rows_.rows_by_bin(node.hist);
    if (counts == nullptr) return nullptr;
    const FeatureCodes& info = data_.feature(feature);
    const int64_t n = static_cast<int64_t>(info.n_bins) + 1;
    reserve(s, n);
    std::copy_n(counts + info.first_bin, n, s.counts.begin());
    return s.counts.data();
}

Candidate SplitSearch::find_shared(const std::vector<NodeView>& nodes, int threads) {
    const std::vector<int32_t>& features = *nodes.front().features;
    std::vector<FeatureBest> bests(features.size());
    const Level level = level_of(nodes);
    parallel_for(static_cast<int64_t>(features.size()), threads,
                 [&](int64_t i, int worker) { bests[i] = search_shared(nodes, level, features[i], scratch_[worker]); });
    int64_t winner = best_scored(features, bests, &FeatureBest::score, level.least, nodes.front().noise_key);
    return winner < 0 ? Candidate{} : candidate_of(features[winner], bests[winner]);
}

void SplitSearch::reserve(Scratch& s, int64_t n) {
    s.sums.reserve(n);
    if (static_cast<int64_t>(s.gains.size()) >= n + cuts_at_once) return;
    s.gains.resize(n + cuts_at_once);
    s.counts.resize(n);
}

void SplitSearch::load_dense(const NodeView& node, int32_t feature, const int64_t* counts, Scratch& s) const {
    const FeatureCodes& info = data_.feature(feature);
    int64_t n = info.n_bins;
    reserve(s, n + 1);
    rows_.load(node.hist, info, s.thread, s.sums);
    if (counts != nullptr) std::partial_sum(counts, counts + n, s.sums.rows.begin());
    finish_view(s, n, nullptr, counts != nullptr,
                counts != nullptr            ? counts[n]
                : scale_.hessian_counts_rows ? s.sums.missing.hessian
                                             : 0);
}

void SplitSearch::finish_view(Scratch& s, int64_t n, const Code* codes, bool rows_counted, int64_t missing_rows) const {
    const WideSum& missing = s.sums.missing;
    s.view = {n,
              s.sums.gradient.data(),
              s.sums.hessian.data(),
              rows_counted ? s.sums.rows.data() : nullptr,
              !rows_counted && scale_.hessian_counts_rows ? scale_.hessian : 0,
              codes,
              scale_.gradient_of(missing),
              scale_.hessian_of(missing),
              missing_rows,
              missing != WideSum{} || missing_rows > 0};
}

void SplitSearch::load_compact(int32_t feature, Scratch& s) const {
    int64_t n = 0;
    rows_.load_gathered({&feature, 1}, s.thread, s.used, s.sums, &n);
    reserve(s, n + 1);
    finish_view(s, n, s.sums.codes.data(), true, s.sums.missing_rows);
}

FeatureBest SplitSearch::search_feature(const NodeView& node, int32_t feature, CutRule rule, Scratch& s,
                                        bool rows_known) const {
    rule.monotone = monotone(feature);
    if (data_.feature(feature).categorical) return search_categories(node, feature, rule, s, rows_known);
    NumericCut cut = find_numeric(s.view, rule, s.gains.data());
    FeatureBest best;
    if (cut.entry < 0) return best;
    best.gain = cut.gain;
    best.missing_left = cut.missing_left;
    best.threshold = s.view.codes != nullptr ? s.view.codes[cut.entry] : static_cast<Code>(cut.entry);
    best.left = rows_.loaded(cut.entry, s.thread);
    if (cut.missing_left) best.left += s.sums.missing;
    best.certain = rows_known || enough_rows(node, best.left);
    if (s.view.codes != nullptr) best.first_right = first_right_of_compact(node, best.left, s, cut.entry, s.view.n);
    return best;
}

Code SplitSearch::first_right_of_compact(const NodeView& node, const WideSum& left, const Scratch& s, int64_t entry,
                                         int64_t end) const {
    int64_t next = entry + 1;
    const WideSum before = rows_.loaded(entry, s.thread);
    if (enough_rows(node, left))
        while (next < end && rows_.loaded(next, s.thread) == before) ++next;
    return next < end ? s.sums.codes[next] : s.sums.codes[entry] + 1;
}

void SplitSearch::find_first_right(const NodeView& node, int32_t feature, const int64_t* counts,
                                   FeatureBest& best) const {
    const FeatureCodes& info = data_.feature(feature);
    if (info.categorical || best.first_right > 0) return;
    Code code = best.threshold + 1;
    auto is_empty = [&] { return rows_.sum(node.hist, info.first_bin + code) == WideSum{}; };
    while (code < info.n_bins && is_empty() && (counts == nullptr || counts[code] == 0)) ++code;
    best.first_right = code < info.n_bins ? code : best.threshold + 1;
}

const int64_t* SplitSearch::deciding_counts(const NodeView& node, int32_t feature, const FeatureBest& best,
                                            Scratch& s) const {
    if (!is_dense(node, feature) || enough_rows(node, best.left) || !next_is_empty(node, feature, best)) return nullptr;
    return listed_counts(node, feature, s);
}

bool SplitSearch::enough_rows(const NodeView& node, const WideSum& left) const {
    if (params_.min_samples_leaf <= 1) return true;
    int64_t need = (params_.min_samples_leaf - 1) * scale_.hessian_step;
    return left.hessian > need && node.facts.total.hessian - left.hessian > need;
}

FeatureBest SplitSearch::search_categories(const NodeView& node, int32_t feature, const CutRule& rule, Scratch& s,
                                           bool rows_known) const {
    const FeatureCodes& info = data_.feature(feature);
    s.categories.clear();
    // Rows of weight 0 do not count, unless rows are counted: histograms do not show them.
    const bool counts = params_.min_samples_leaf > 1;
    auto add = [&](Code code, const WideSum& sum, int64_t rows) {
        if ((counts && rows > 0) || sum != WideSum{})
            s.categories.push_back({code, sum, scale_.gradient_of(sum), scale_.hessian_of(sum), rows});
    };
    const std::vector<int64_t>& rows = s.sums.rows;
    if (s.view.codes != nullptr) {
        WideSum before;
        for (int64_t i = 0; i < s.view.n; ++i) {
            const WideSum sum = rows_.loaded(i, s.thread);
            add(s.sums.codes[i], sum - before, rows[i] - (i > 0 ? rows[i - 1] : 0));
            before = sum;
        }
    } else {
        auto rows_of = [&](Code code) {
            if (counts && s.view.rows != nullptr) return rows[code] - (code > 0 ? rows[code - 1] : 0);
            return s.view.rows_known() ? s.code_sums[code].hessian : 0;
        };
        s.code_sums.assign(info.n_bins, {});
        rows_.add_sums(node.hist, info.first_bin, info.n_bins, s.code_sums.data());
        for (Code code = 0; code < info.n_bins; ++code) add(code, s.code_sums[code], rows_of(code));
    }
    add(info.n_bins, s.sums.missing, s.view.missing_rows);
    if (s.categories.size() < 2) return {};
    FeatureBest best = find_categories(rule, params_, feature, rows_known && counts, s.categories, info.n_bins);
    best.certain = rows_known || enough_rows(node, best.left);
    return best;
}

double SplitSearch::rounding_gain(const NodeView& node) const {
    double score = node.facts.rule.score(scale_.gradient_of(node.facts.total), scale_.hessian_of(node.facts.total));
    return rounding_share * std::abs(score);
}

double SplitSearch::noisy(double score, int32_t feature, uint64_t noise_key) const {
    if (!(params_.score_noise > 0)) return score;
    return score + params_.score_noise * standard_normal(draw(noise_key, feature));
}

int64_t SplitSearch::best_scored(const std::vector<int32_t>& features, const std::vector<FeatureBest>& bests,
                                 double FeatureBest::* score_of, double least, uint64_t noise_key) const {
    int64_t winner = -1;
    double highest = 0;
    for (size_t i = 0; i < bests.size(); ++i) {
        if (!(bests[i].gain > least)) continue;
        const double score = noisy(bests[i].*score_of, features[i], noise_key);
        if (winner >= 0 && !(score > highest)) continue;
        highest = score;
        winner = static_cast<int64_t>(i);
    }
    return winner;
}

Candidate SplitSearch::to_candidate(const NodeView& node, Contest& contest, Scratch& scratch) {
    const std::vector<int32_t>& features = *node.features;
    std::vector<FeatureBest>& bests = contest.bests;
    contest.uncounted.clear();
    double least = std::max(params_.min_gain, rounding_gain(node));
    std::vector<Leader>& leaders = scratch.leaders;
    leaders.clear();
    auto offer = [&](int64_t place) {
        if (!(bests[place].gain > least)) return;
        leaders.push_back({noisy(bests[place].gain, features[place], node.noise_key), place});
        std::push_heap(leaders.begin(), leaders.end());
    };
    for (size_t place = 0; place < bests.size(); ++place) offer(static_cast<int64_t>(place));
    while (!leaders.empty()) {
        const int64_t winner = leaders.front().place;
        if (!bests[winner].certain && !rows_.counted(node.rows, features[winner])) {
            contest.uncounted = uncertain_leaders(node, bests, least);
            return {};
        }
        if (bests[winner].certain || counts_enough_rows(node, features[winner], bests[winner])) {
            find_first_right(node, features[winner], deciding_counts(node, features[winner], bests[winner], scratch),
                             bests[winner]);
            return candidate_of(features[winner], bests[winner]);
        }
        std::pop_heap(leaders.begin(), leaders.end());
        leaders.pop_back();
        count_rows(node, features[winner], scratch);
        load_dense(node, features[winner], scratch.counts.data(), scratch);
        bests[winner] = search_feature(node, features[winner], cut_rule(node.facts, scale_, params_, 0), scratch, true);
        find_first_right(node, features[winner], scratch.counts.data(), bests[winner]);
        offer(winner);
    }
    return {};
}

std::vector<int32_t> SplitSearch::uncertain_leaders(const NodeView& node, std::vector<FeatureBest> bests,
                                                    double least) const {
    std::vector<int32_t> leaders;
    while (leaders.size() < most_uncounted) {
        int64_t winner = best_scored(*node.features, bests, &FeatureBest::gain, least, node.noise_key);
        if (winner < 0 || bests[winner].certain) break;
        leaders.push_back((*node.features)[winner]);
        bests[winner].gain = -infinity;
    }
    return leaders;
}

bool SplitSearch::next_is_empty(const NodeView& node, int32_t feature, const FeatureBest& best) const {
    const FeatureCodes& info = data_.feature(feature);
    return best.threshold + 1 < info.n_bins && rows_.sum(node.hist, info.first_bin + best.threshold + 1) == WideSum{};
}

bool SplitSearch::counts_enough_rows(const NodeView& node, int32_t feature, const FeatureBest& best) const {
    const FeatureCodes& info = data_.feature(feature);
    if (info.categorical || best.threshold + 1 >= info.n_bins) return false;
    if (next_is_empty(node, feature, best)) return false;
    return rows_.both_sides_have(node.rows, feature, best.threshold, best.missing_left, params_.min_samples_leaf);
}

void SplitSearch::count_rows(const NodeView& node, int32_t feature, Scratch& s) const {
    const int64_t n = static_cast<int64_t>(data_.feature(feature).n_bins) + 1;
    reserve(s, n);
    std::fill_n(s.counts.begin(), n, 0);
    rows_.count(node.rows, feature, 0, s.counts.data());
}

Candidate SplitSearch::candidate_of(int32_t feature, const FeatureBest& best) const {
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

SplitSearch::Level SplitSearch::level_of(const std::vector<NodeView>& nodes) const {
    Level level;
    Agreement agreement;
    for (const NodeView& node : nodes) {
        const NodeFacts& facts = node.facts;
        level.least += rounding_gain(node);
        agreement.add(facts.rule, scale_.gradient_of(facts.total), scale_.hessian_of(facts.total));
    }
    level.least = std::max(level.least, params_.min_gain);
    level.cosine = agreement.cosine();
    return level;
}

FeatureBest SplitSearch::search_shared(const std::vector<NodeView>& nodes, const Level& level, int32_t feature,
                                       Scratch& s) const {
    const FeatureCodes& info = data_.feature(feature);
    int64_t n = info.n_bins;
    reserve(s, n + 1);
    bool categorical = info.categorical;
    std::vector<Code> order = categorical ? category_order(nodes, feature) : std::vector<Code>{};
    bool any_missing = !categorical && std::any_of(nodes.begin(), nodes.end(), [&](const NodeView& node) {
        return rows_.sum(node.hist, info.first_bin + n) != WideSum{};
    });
    clear_cuts(s.missing_right, n + 1);
    clear_cuts(s.missing_left, any_missing ? n + 1 : 0);
    for (const NodeView& node : nodes) {
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

void SplitSearch::clear_cuts(SharedCuts& cuts, int64_t n) const {
    cuts.gain.assign(n, 0.0);
    cuts.product.assign(params_.cosine ? n : 0, 0.0);
    cuts.square.assign(params_.cosine ? n : 0, 0.0);
}

void SplitSearch::add_cuts(Scratch& s, const CutRule& rule, bool missing_left, SharedCuts& cuts) const {
    const CutRange range = cut_range(s.view, missing_left, rule);
    view_gains(s.view, missing_left, rule, range, s.gains.data());
    for (int64_t i = range.first; i < range.last; ++i) cuts.gain[i] += s.gains[i] > -infinity ? s.gains[i] : 0.0;
    if (!params_.cosine) return;
    std::fill(s.gains.begin(), s.gains.begin() + range.first, -infinity);  // cuts that other nodes offer
    std::fill(s.gains.begin() + range.last, s.gains.begin() + s.view.n, -infinity);
    add_agreements(s.view, missing_left, rule, s.gains.data(), cuts.product.data(), cuts.square.data());
}

double SplitSearch::cosine_gain(const SharedCuts& cuts, int64_t i, const Level& level) {
    return comparable(Agreement{cuts.product[i], cuts.square[i]}.cosine() - level.cosine);
}

int64_t SplitSearch::first_cosine(const SharedCuts& cuts, int64_t n, const Level& level) {
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

FeatureBest SplitSearch::best_shared(const FeatureCodes& info, const Level& level, const std::vector<Code>& order,
                                     bool any_missing, const Scratch& s) const {
    FeatureBest best;
    int64_t winner = -1;
    const int64_t n_bins = info.n_bins;
    for (bool missing_left : {false, true}) {
        if (missing_left && !any_missing) break;
        const SharedCuts& cuts = missing_left ? s.missing_left : s.missing_right;
        int64_t n =
            info.categorical ? static_cast<int64_t>(order.size()) - 1 : n_bins - (missing_left || !any_missing ? 1 : 0);
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

std::vector<Code> SplitSearch::category_order(const std::vector<NodeView>& nodes, int32_t feature) const {
    const FeatureCodes& info = data_.feature(feature);
    std::vector<WideSum> sums(static_cast<size_t>(info.n_bins) + 1);
    for (const NodeView& node : nodes)
        rows_.add_sums(node.hist, info.first_bin, static_cast<int64_t>(sums.size()), sums.data());
    CutRule level{};
    level.min_rows = static_cast<double>(params_.min_samples_leaf);
    for (const NodeView& node : nodes) {
        level.hessian += scale_.hessian_of(node.facts.total);
        level.n_rows += static_cast<double>(node.facts.n_rows);
    }
    std::vector<Code> order;
    for (Code code = 0; code <= info.n_bins; ++code)
        if (sums[code] != WideSum{} && !level.is_rare(scale_.hessian_of(sums[code]))) order.push_back(code);
    auto key = [&](Code code) {
        return scale_.gradient_of(sums[code]) / (scale_.hessian_of(sums[code]) + params_.category_smoothing);
    };
    auto rank = [&](Code code) { return params_.category_rank(feature, code); };
    std::sort(order.begin(), order.end(),
              [&](Code a, Code b) { return key(a) != key(b) ? key(a) < key(b) : rank(a) < rank(b); });
    return order;
}

void SplitSearch::load_ordered(const NodeView& node, int32_t feature, const std::vector<Code>& order,
                               Scratch& s) const {
    rows_.load_ordered(node.hist, data_.feature(feature), order, s.sums);
    finish_view(s, static_cast<int64_t>(order.size()), nullptr, false, 0);
}

}  // namespace arboretum
