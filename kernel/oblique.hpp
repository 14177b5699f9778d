// Oblique splits: the sum of a few scaled numbers of a row against a threshold (sparse projections: Tomita et al. 2020,
// "Sparse projection oblique randomer forests"; sums of random inputs: Breiman 2001, §5).
//
//   z(row) = Σ ± value / scale       over the features of a projection, rising;   z ≤ threshold goes left
//
// A node draws its projections from its path, by number: nothing but the number is kept until one of them wins.
//
//   values   │ row 0: v₀ v₁ … │ row 1: v₀ v₁ … │      numeric features that vary, 8 bytes each; missing ones are filled
#pragma once

#include <span>

#include "node_search.hpp"
#include "route.hpp"

namespace arboretum {

// The numbers of a table, and how a node makes projections of them. Terms name a feature by its place in `values`.
class Projections {
  public:
    using Term = ProjectionTerm;

    Projections() = default;  // none

    // features: numbers of the columns of values in the binned table.
    Projections(const double* values, std::vector<int32_t> features, std::vector<double> scale,
                std::vector<double> fill, int n_projections, double density)
        : values_(values), features_(std::move(features)), scale_(std::move(scale)), fill_(std::move(fill)) {
        if (n_features() < least_terms) return;
        n_projections_ = n_projections;
        count_sizes(density);
    }

    int n_projections() const { return n_projections_; }
    int n_features() const { return static_cast<int>(features_.size()); }
    const double* row(Row row) const { return values_ + static_cast<int64_t>(row) * n_features(); }

    static double value(std::span<const Term> terms, const double* row) {
        return project(terms, [row](const Term& term) { return row[term.feature]; });
    }

    // Every feature takes part with probability `density`, given that at least two do: their number first, then which
    // of them (Floyd's sample without replacement, Bentley 1987), each with a sign. z and −z cut alike, so the first
    // sign is +.
    void draw_terms(uint64_t path, int number, std::vector<Term>& terms) const {
        const uint64_t key = draw_key(path, number);
        const double u = unit(draw(key, 0)) * cumulative_.back();
        const auto at = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, u);
        const int32_t size = least_terms + static_cast<int32_t>(at - cumulative_.begin()), n = n_features();
        terms.clear();
        for (int32_t i = 0, most = n - size; i < size; ++i, ++most) {
            const uint64_t bits = draw(key, 1 + static_cast<uint64_t>(i));
            int32_t pick = static_cast<int32_t>(unit(bits) * (most + 1));
            auto place = std::lower_bound(terms.begin(), terms.end(), pick,
                                          [](const Term& term, int32_t feature) { return term.feature < feature; });
            if (place != terms.end() && place->feature == pick) pick = most, place = terms.end();
            terms.insert(place, {pick, ((bits & 1) != 0 ? -1 : 1) / scale_[pick], fill_[pick]});
        }
        if (terms[0].weight < 0)
            for (Term& term : terms) term.weight = -term.weight;
    }

    static uint64_t cut_bits(uint64_t path, int number) { return draw(draw_key(path, number), ~uint64_t{0}); }

    int32_t binned_feature(const Term& term) const { return features_[term.feature]; }

  private:
    static constexpr int least_terms = 2;

    static uint64_t draw_key(uint64_t path, int number) { return draw(path, 0x70726f6a, number); }  // "proj"

    // cumulative_[i]: weight of sizes 2 … 2 + i, binomial up to a factor, by ratios of neighbours from the mode on.
    void count_sizes(double density) {
        const int n = n_features();
        const int mode = std::clamp(static_cast<int>((n + 1) * density), least_terms, n);
        std::vector<double> weight(n + 1, 0.0);
        weight[mode] = 1;
        for (int k = mode; k < n; ++k) weight[k + 1] = weight[k] * ((n - k) * density) / ((k + 1) * (1 - density));
        for (int k = mode; k > least_terms; --k)
            weight[k - 1] = weight[k] * (k * (1 - density)) / ((n - k + 1) * density);
        double sum = 0;
        for (int k = least_terms; k <= n; ++k) cumulative_.push_back(sum += weight[k]);
    }

    const double* values_ = nullptr;
    std::vector<int32_t> features_;
    std::vector<double> scale_, fill_;
    int n_projections_ = 0;
    std::vector<double> cumulative_;
};

// The best cut of a projection.
template <class Statistics, class Rows>
class ProjectionSearch {
  public:
    using Search = NodeSearch<Statistics, Rows>;
    using Node = typename Search::Node;
    using Gain = typename Statistics::Gain;
    using Word = typename Statistics::Word;

    ProjectionSearch(const Projections& projections, const Statistics& statistics, const SplitRules& rules)
        : projections_(projections), statistics_(statistics), rules_(rules), left_(statistics.zero()) {}

    // search: tells which cuts are allowed. Compared with `best` as a whole, so that it does not matter which
    // projections share a `best`.
    void offer(int number, Search& search, const Node& node, const Gain& gain, Cut& best) {
        projections_.draw_terms(node.path, number, terms_);
        project_rows(node);
        if (!(low_ < high_)) return;
        Cut found;
        const typename Search::Offer offer{search, node, gain, found, projections_.binned_feature(terms_[0])};
        if constexpr (ranks_rows) ranking_.rank(statistics_, node.entries, node.n_rows);
        if (rules_.random_thresholds)
            offer_random(offer, unit(Projections::cut_bits(node.path, number)));
        else
            offer_all(offer);
        if (!(found.gain > best.bar)) return;
        found.projection = number;
        best = std::move(found);
    }

  private:
    using ProjectedRow = std::pair<double, uint32_t>;  // z, place in the node
    using Offer = typename Search::Offer;

    static constexpr bool ranks_rows = RankingOf<Statistics>::exists;
    static constexpr size_t bucket_rows = 64;  // from so many rows on buckets repay their pass

    void project_rows(const Node& node) {
        rows_.resize(node.n_rows);
        low_ = infinity;
        high_ = -infinity;
        for (int64_t i = 0; i < node.n_rows; ++i) {
            double z = Projections::value(terms_, projections_.row(node.entries[i].row));
            if (std::isnan(z)) z = infinity;  // infinities that cancel: right
            rows_[i] = {z, static_cast<uint32_t>(i)};
            low_ = std::min(low_, z);
            high_ = std::max(high_, z);
        }
    }

    // Every place between two different sums, in the middle.
    void offer_all(const Offer& offer) {
        sort_rows();
        int64_t taken = -1;
        const int64_t n = static_cast<int64_t>(rows_.size());
        left_ = statistics_.zero();
        if constexpr (ranks_rows) find_gains();
        for (int64_t i = 0; i + 1 < n; ++i) {
            statistics_.add(offer.node.entries[rows_[i].second], left_.data());
            if (rows_[i].first < rows_[i + 1].first && offer_left(offer, i)) taken = i;
        }
        if (taken >= 0) take(offer, between(rows_[taken].first, rows_[taken + 1].first));
    }

    // One threshold, uniform between the least and the largest sum (Geurts, Ernst & Wehenkel 2006).
    void offer_random(const Offer& offer, double u) {
        double t = low_ + u * (high_ - low_);
        if (!(t >= low_ && t < high_)) t = low_;
        left_ = statistics_.zero();
        for (const auto& [z, i] : rows_) statistics_.add_if(z <= t, offer.node.entries[i], left_.data());
        int64_t n_left = 0;
        if constexpr (ranks_rows) {
            auto is_left = [t](const ProjectedRow& row) { return row.first <= t; };
            n_left = std::partition(rows_.begin(), rows_.end(), is_left) - rows_.begin();
            find_gains();
        }
        if (offer_left(offer, n_left - 1)) take(offer, t);
    }

    // Offers left_, the rows up to the i-th.
    bool offer_left(const Offer& offer, [[maybe_unused]] int64_t i) {
        if constexpr (ranks_rows)
            return offer(left_.data(), gains_[i]);
        else
            return offer(left_.data());
    }

    static void take(const Offer& offer, double t) { offer.take(ConditionKind::oblique, 0, false, t); }

    // A threshold t with a ≤ t < b.
    static double between(double a, double b) {
        const double middle = a / 2 + b / 2;
        return middle >= a && middle < b ? middle : a;
    }

    // Into as many buckets of equal width as there are rows, then each by itself.
    void sort_rows() {
        const size_t n = rows_.size();
        const double per_unit = static_cast<double>(n) / (high_ - low_);
        if (n < bucket_rows || !(per_unit > 0 && per_unit < infinity)) return std::sort(rows_.begin(), rows_.end());
        auto bucket = [=, low = low_](double z) { return std::min(static_cast<size_t>((z - low) * per_unit), n - 1); };
        starts_.assign(n + 1, 0);
        for (const auto& [z, i] : rows_) ++starts_[bucket(z) + 1];
        for (size_t b = 0; b < n; ++b) starts_[b + 1] += starts_[b];
        sorted_.resize(n);
        for (const ProjectedRow& row : rows_) sorted_[starts_[bucket(row.first)]++] = row;
        uint32_t begin = 0;
        for (size_t b = 0; b < n; begin = starts_[b++])  // starts_[b] has become the end of bucket b
            if (starts_[b] > begin + 1) std::sort(sorted_.begin() + begin, sorted_.begin() + starts_[b]);
        rows_.swap(sorted_);
    }

    // Gains of the cuts behind each row, of statistics with a ranking.
    void find_gains() {
        const size_t n = rows_.size();
        groups_.start.resize(n + 1);
        groups_.members.resize(n);
        order_.resize(n);
        for (size_t i = 0; i < n; ++i) {
            groups_.start[i + 1] = static_cast<int64_t>(i + 1);
            groups_.members[i] = rows_[i].second;
            order_[i] = {0.0, static_cast<int64_t>(i)};
        }
        ranking_.prefix_gains(groups_, order_, gains_);
    }

    const Projections& projections_;
    const Statistics& statistics_;
    const SplitRules& rules_;
    typename Statistics::Sum left_;
    std::vector<ProjectionTerm> terms_;
    std::vector<ProjectedRow> rows_, sorted_;
    double low_ = 0, high_ = 0;  // least and largest sum
    std::vector<uint32_t> starts_;
    typename RankingOf<Statistics>::type ranking_;
    RowGroups groups_;
    GroupOrder order_;
    std::vector<double> gains_;
};

}  // namespace arboretum
