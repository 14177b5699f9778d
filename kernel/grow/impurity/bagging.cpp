#include "grow/impurity/bagging.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/parallel.hpp"
#include "grow/impurity/impurity.hpp"
#include "grow/impurity/log_rank.hpp"
#include "grow/impurity/uplift.hpp"

namespace arboretum {

std::vector<Row> content_order(const BinnedData& data, const CodeEdges* edges, const Projections& projections,
                               const int32_t* classes, const double* numbers, int n_outputs, const double* weight,
                               int threads) {
    std::vector<std::pair<uint64_t, Row>> keys(data.n_rows());
    parallel_blocks(data.n_rows(), 4096, threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; ++row) {
            uint64_t key = 0;
            for (int o = 0; o < n_outputs; ++o) {
                const int64_t at = row * n_outputs + o;
                key = draw(key, classes != nullptr ? classes[at] : std::bit_cast<uint64_t>(numbers[at] + 0.0));
            }
            for (int32_t f = 0; f < data.n_features(); ++f) {
                const Code code = data.code(f, row);
                key = mix(key ^ (edges != nullptr && data.feature(f).categorical ? edges->key(f, code) : code));
            }
            const double* values = projections.row(static_cast<Row>(row));
            for (int i = 0; i < projections.n_features(); ++i)
                key = draw(key, std::bit_cast<uint64_t>(values[i] + 0.0));
            keys[row] = {key, static_cast<Row>(row)};
        }
    });
    std::sort(keys.begin(), keys.end(), [weight](const auto& a, const auto& b) {
        if (a.first != b.first) return a.first < b.first;
        if (weight != nullptr && weight[a.second] != weight[b.second]) return weight[a.second] < weight[b.second];
        return a.second < b.second;
    });
    std::vector<Row> rows;
    for (const auto& [key, row] : keys) rows.push_back(row);
    return rows;
}

void Bootstrap::draw_copies(uint64_t key, int64_t n_rows, std::vector<uint32_t>& copies) const {
    copies.assign(n_rows, 0);
    const int64_t n_strata = static_cast<int64_t>(strata.size()) - 1;
    for (int64_t i = 0; i < n_draws; ++i) {
        const int64_t stratum = n_strata == 1 ? 0 : i % n_strata;
        ++copies[pool[place(strata[stratum], strata[stratum + 1], unit(draw(key, i)))]];
    }
}

int64_t Bootstrap::place(int64_t begin, int64_t end, double u) const {
    if (cumulative.empty()) return begin + static_cast<int64_t>(u * static_cast<double>(end - begin));
    const double low = begin > 0 ? cumulative[begin - 1] : 0, high = cumulative[end - 1];
    const auto first = cumulative.begin() + begin, last = cumulative.begin() + end - 1;
    return std::upper_bound(first, last, low + u * (high - low)) - cumulative.begin();
}

ForestGrower::ForestGrower(const BinnedData& data, Target target, SplitRules rules, CodeEdges edges,
                           Projections projections, Bootstrap bootstrap, int threads)
    : inputs_{data,
              std::move(target),
              std::move(rules),
              std::move(edges),
              std::move(projections),
              std::move(bootstrap),
              std::clamp(threads, 1, max_threads)} {
    inputs_.target.choose_scales(inputs_.bootstrap.n_draws);
    if (inputs_.rules.random_thresholds) inputs_.edges.make_cells();
}

GrownForest ForestGrower::grow(int64_t first, int64_t n, uint64_t seed, bool with_risk) const {
    const TreeRange range{first, n, seed};
    const Target& target = inputs_.target;
    if (target.criterion == Criterion::log_rank) return grow_with<LogRank>(inputs_, range, with_risk);
    if (target.criterion == Criterion::absolute_error) return grow_with<Medians>(inputs_, range, with_risk);
    if (target.treatment.n_arms == 2) return grow_with<Arms<2>>(inputs_, range, with_risk);
    if (target.treatment.n_arms > 0) return grow_with<Arms<0>>(inputs_, range, with_risk);
    if (target.is_packable) return grow_with<PackedBinary>(inputs_, range, with_risk);
    if (target.is_binary()) return grow_with<Moments>(inputs_, range, with_risk);
    if (target.is_classes() || target.n_outputs > 1) return grow_with<Lanes>(inputs_, range, with_risk);
    if (target.is_countable) return grow_with<CountedMoments>(inputs_, range, with_risk);
    return grow_with<Moments>(inputs_, range, with_risk);
}

}  // namespace arboretum
