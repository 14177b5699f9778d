// The best oblique split of a node (projections.hpp).
#pragma once

#include "base/midpoint.hpp"
#include "grow/impurity/node_search.hpp"
#include "grow/impurity/projections.hpp"

namespace arboretum {

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
        projected_.fill(projections_, terms_, {node.entries, node.n_rows});
        if (!(projected_.low() < projected_.high())) return;
        Cut found;
        const typename Search::Offer offer{search, node, gain, found, projections_.binned_feature(terms_[0])};
        if constexpr (RanksRows<Statistics>) ranking_.rank(statistics_, node.entries, node.n_rows);
        if (rules_.random_thresholds)
            offer_random(offer, unit(Projections::cut_bits(node.path, number)));
        else
            offer_all(offer);
        if (!(found.gain > best.bar)) return;
        found.projection = number;
        best = std::move(found);
    }

  private:
    using ProjectedRow = ProjectedRows::ProjectedRow;
    using Offer = typename Search::Offer;

    // Every place between two different sums, in the middle.
    void offer_all(const Offer& offer) {
        projected_.sort();
        const std::vector<ProjectedRow>& rows = projected_.rows();
        int64_t taken = -1;
        const int64_t n = static_cast<int64_t>(rows.size());
        left_ = statistics_.zero();
        if constexpr (RanksRows<Statistics>) find_gains();
        for (int64_t i = 0; i + 1 < n; ++i) {
            statistics_.add(offer.node.entries[rows[i].second], left_.data());
            if (rows[i].first < rows[i + 1].first && offer_left(offer, i)) taken = i;
        }
        if (taken >= 0) take(offer, threshold_between(rows[taken].first, rows[taken + 1].first));
    }

    // One threshold, uniform between the least and the largest sum (Geurts, Ernst & Wehenkel 2006).
    void offer_random(const Offer& offer, double u) {
        const double low = projected_.low(), high = projected_.high();
        double t = low + u * (high - low);
        if (!(t >= low && t < high)) t = low;
        left_ = statistics_.zero();
        for (const auto& [z, i] : projected_.rows()) statistics_.add_if(z <= t, offer.node.entries[i], left_.data());
        int64_t n_left = 0;
        if constexpr (RanksRows<Statistics>) {
            n_left = projected_.part(t);
            find_gains();
        }
        if (offer_left(offer, n_left - 1)) take(offer, t);
    }

    // Offers left_, the rows up to the i-th.
    bool offer_left(const Offer& offer, [[maybe_unused]] int64_t i) {
        if constexpr (RanksRows<Statistics>)
            return offer(left_.data(), gains_[i]);
        else
            return offer(left_.data());
    }

    static void take(const Offer& offer, double t) { offer.take(ConditionKind::oblique, 0, false, t); }

    // Gains of the cuts behind each row, for statistics with a ranking.
    void find_gains() {
        const std::vector<ProjectedRow>& rows = projected_.rows();
        const size_t n = rows.size();
        groups_.start.resize(n + 1);
        groups_.members.resize(n);
        order_.resize(n);
        for (size_t i = 0; i < n; ++i) {
            groups_.start[i + 1] = static_cast<int64_t>(i + 1);
            groups_.members[i] = rows[i].second;
            order_[i] = {0.0, static_cast<int64_t>(i)};
        }
        ranking_.prefix_gains(groups_, order_, gains_);
    }

    const Projections& projections_;
    const Statistics& statistics_;
    const SplitRules& rules_;
    typename Statistics::Sum left_;
    std::vector<ProjectionTerm> terms_;
    ProjectedRows projected_;
    typename RankingOf<Statistics>::type ranking_;
    RowGroups groups_;
    GroupOrder order_;
    std::vector<double> gains_;
};

}  // namespace arboretum
