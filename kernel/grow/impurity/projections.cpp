#include "grow/impurity/projections.hpp"

#include <algorithm>
#include <cmath>

namespace arboretum {

void Projections::draw_terms(uint64_t path, int number, std::vector<Term>& terms) const {
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

void Projections::count_sizes(double density) {
    const int n = n_features();
    const int mode = std::clamp(static_cast<int>((n + 1) * density), least_terms, n);
    std::vector<double> weight(n + 1, 0.0);
    weight[mode] = 1;
    for (int k = mode; k < n; ++k) weight[k + 1] = weight[k] * ((n - k) * density) / ((k + 1) * (1 - density));
    for (int k = mode; k > least_terms; --k) weight[k - 1] = weight[k] * (k * (1 - density)) / ((n - k + 1) * density);
    double sum = 0;
    for (int k = least_terms; k <= n; ++k) cumulative_.push_back(sum += weight[k]);
}

void ProjectedRows::fill(const Projections& projections, std::span<const ProjectionTerm> terms,
                         const RowNumbers& rows) {
    rows_.resize(rows.size());
    low_ = infinity;
    high_ = -infinity;
    for (int64_t i = 0; i < rows.size(); ++i) {
        double z = Projections::value(terms, projections.row(rows[i]));
        if (std::isnan(z)) z = infinity;  // infinities that cancel: right
        rows_[i] = {z, static_cast<uint32_t>(i)};
        low_ = std::min(low_, z);
        high_ = std::max(high_, z);
    }
}

// Into as many buckets of equal width as there are rows, then each by itself.
void ProjectedRows::sort() {
    constexpr size_t bucket_rows = 64;  // from this many rows on, buckets repay their pass
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

int64_t ProjectedRows::part(double t) {
    auto is_left = [t](const ProjectedRow& row) { return row.first <= t; };
    return std::partition(rows_.begin(), rows_.end(), is_left) - rows_.begin();
}

}  // namespace arboretum
