#include "grow/isolation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/parallel.hpp"
#include "base/per_thread.hpp"
#include "base/rng.hpp"
#include "grow/grow.hpp"

namespace arboretum {

namespace {

// What a value adds to the key of its row; the keys of categories do not depend on their codes.
uint64_t value_key(const RawColumn& column, std::span<const uint64_t> category_keys, int64_t row, bool& is_missing) {
    if (column.type == ValueType::category) {
        const int32_t code = column.at<int32_t>(row);
        is_missing |= code < 0;
        return code < 0 ? ~uint64_t{0} : category_keys[code];
    }
    const double value = column.number(row);
    is_missing |= std::isnan(value);
    return std::isnan(value) ? ~uint64_t{0} : std::bit_cast<uint64_t>(value + 0.0);  // −0 is 0
}

// c(n) for n up to that of a sample, in multiples of 2^-32: sums over up to 2^15 trees are exact, so that rows of equal
// paths have equal scores, and rows that no cut can part score exactly as a random tree does.
std::vector<double> average_path_lengths(int64_t n) {
    std::vector<double> lengths(n + 1, 0.0);
    double harmonic = 0;
    for (int64_t i = 2; i <= n; ++i) {
        harmonic += 1 / static_cast<double>(i - 1);
        const double length = 2 * harmonic - 2 * static_cast<double>(i - 1) / static_cast<double>(i);
        lengths[i] = std::rint(length * 0x1p32) * 0x1p-32;
    }
    return lengths;
}

class IsolationBuilder {
  public:
    IsolationBuilder(const IsolationTable& table, const IsolationRules& rules, std::span<const double> path_lengths)
        : table_(table), rules_(rules), path_lengths_(path_lengths) {}

    GrownTree grow_from(const std::vector<Row>& sample, uint64_t key) {
        n_sample_ = static_cast<int64_t>(sample.size());
        draw_features(draw(key, 0));
        read_values(sample);
        places_.resize(n_sample_);
        std::iota(places_.begin(), places_.end(), 0);
        tree_ = {};
        open_ = {{0, n_sample_, 0, draw(key, 1), static_cast<int32_t>(features_.size()), -1}};
        grow(*this);
        return std::move(tree_);
    }

    // ---- steps of grow.hpp ---------------------------------------------------------------------------------------

    void open() {}

    // Preorder: the draws of a branch depend on the order of features_ that the branches before it left.
    bool next() {
        while (!open_.empty()) {
            branch_ = open_.back();
            open_.pop_back();
            id_ = static_cast<int32_t>(tree_.nodes.size());
            if (branch_.parent >= 0) {
                GrownNode& parent = tree_.nodes[branch_.parent];
                (parent.left < 0 ? parent.left : parent.right) = id_;
            }
            const int64_t n = branch_.size();
            GrownNode& node = tree_.nodes.emplace_back(GrownNode{.weight = static_cast<double>(n), .n_rows = n});
            tree_.values.push_back(branch_.depth + path_lengths_[n]);
            if (n > 1 && branch_.depth < rules_.max_depth && choose_cut(branch_, node)) return true;
        }
        return false;
    }

    // Stable, so that a branch keeps the order of the sample.
    void partition() {
        middle_ = branch_.begin;
        others_.clear();
        for (int64_t i = branch_.begin; i < branch_.end; ++i) {
            if (goes_left_[i - branch_.begin] != 0)
                places_[middle_++] = places_[i];
            else
                others_.push_back(places_[i]);
        }
        std::copy(others_.begin(), others_.end(), places_.begin() + middle_);
    }

    void commit() {
        const int depth = branch_.depth + 1;
        const int32_t n = branch_.n_varying;
        open_.push_back({middle_, branch_.end, depth, draw(branch_.path, right_path), n, id_});
        open_.push_back({branch_.begin, middle_, depth, draw(branch_.path, left_path), n, id_});
    }

  private:
    struct Branch {
        int64_t begin, end;  // of places_
        int depth;
        uint64_t path;
        int32_t n_varying;  // of features_
        int32_t parent;
        int64_t size() const { return end - begin; }
    };

    // What a node holds of a feature.
    struct Range {
        double low = infinity, high = -infinity;
        int64_t n_missing = 0;
        bool varies(int64_t n_rows) const { return low < high || (n_missing > 0 && n_missing < n_rows); }
    };

    // Counters of the draws of a path; each has draws of its own below.
    enum Purpose : uint64_t { left_path, right_path, cut, missing_side, category_side, normal, feature_draw };

    void draw_features(uint64_t key) {
        const int32_t n = table_.n_features();
        features_.resize(n);
        std::iota(features_.begin(), features_.end(), 0);
        if (rules_.max_features >= n) return;
        for (int32_t i = 0; i < rules_.max_features; ++i)
            std::swap(features_[i], features_[i + static_cast<int32_t>(unit(draw(key, i)) * (n - i))]);
        features_.resize(rules_.max_features);
    }

    void read_values(const std::vector<Row>& sample) {
        values_.resize(static_cast<size_t>(table_.n_features()) * n_sample_);
        for (int64_t i = 0; i < n_sample_; ++i)
            for (int32_t feature : features_) values_[at(feature, i)] = value(feature, sample[i]);
    }

    double value(int32_t feature, Row row) const {
        const RawColumn& column = table_.columns[feature];
        if (column.type != ValueType::category) return column.number(row);
        const int32_t code = column.at<int32_t>(row);
        return code < 0 ? std::numeric_limits<double>::quiet_NaN() : code;
    }

    int64_t at(int32_t feature, int64_t place) const { return feature * n_sample_ + place; }

    // Draws features until one varies, and for a hyperplane more of them; then a cut. Fills goes_left_.
    bool choose_cut(Branch& branch, GrownNode& node) {
        std::vector<int32_t>& chosen = chosen_;
        chosen.clear();
        Range first;
        int32_t looked_at = 0;
        for (uint64_t draws = 0; looked_at < branch.n_varying; ++draws) {
            const double u = unit(draw(branch.path, feature_draw, draws));
            const int32_t pick = looked_at + static_cast<int32_t>(u * (branch.n_varying - looked_at));
            std::swap(features_[pick], features_[looked_at]);
            const int32_t feature = features_[looked_at];
            if (!chosen.empty() && table_.is_category(feature)) {
                ++looked_at;
                continue;
            }
            const Range range = range_of(branch, feature);
            if (!range.varies(branch.size())) {
                std::swap(features_[looked_at], features_[--branch.n_varying]);
                continue;
            }
            if (chosen.empty()) first = range;
            chosen.push_back(feature);
            ++looked_at;
            if (table_.is_category(feature) || static_cast<int32_t>(chosen.size()) == rules_.max_terms) break;
        }
        if (chosen.empty()) return false;
        goes_left_.resize(branch.size());
        node.feature = chosen[0];
        if (table_.is_category(node.feature))
            cut_categories(branch, first, node);
        else if (chosen.size() > 1)
            cut_obliquely(branch, node);
        else
            cut_numbers(branch, first, node);
        return true;
    }

    Range range_of(const Branch& branch, int32_t feature) const {
        const double* values = &values_[at(feature, 0)];
        Range range;
        for (int64_t i = branch.begin; i < branch.end; ++i) {
            const double value = values[places_[i]];
            range.low = value < range.low ? value : range.low;
            range.high = value > range.high ? value : range.high;
            range.n_missing += value != value;
        }
        return range;
    }

    static double between(double low, double high, double u) {
        const double range = high - low;
        return range < infinity ? low + u * range : low * (1 - u) + high * u;
    }

    // Uniform in [low, high). An infinity is farther from every number than any two numbers from each other: the cut
    // falls beside it.
    template <class ValueOf>
    static double threshold_between(double low, double high, double u, int64_t n, ValueOf&& value_of) {
        if (low == -infinity && (high < infinity || u < 0.5)) return low;
        if (high == infinity) {
            double largest = -infinity;
            for (int64_t i = 0; i < n; ++i)
                if (value_of(i) < infinity) largest = std::max(largest, value_of(i));
            return largest;
        }
        const double t = between(low, high, u);
        return t >= low && t < high ? t : low;
    }

    // A node without missing values in training sends them where most of its rows go.
    void settle_missing(const Branch& branch, const Range& range, int64_t n_left, GrownNode& node) const {
        if (range.n_missing > 0)
            node.missing_left = (draw(branch.path, missing_side) & 1) != 0;
        else
            node.missing_left = 2 * n_left >= branch.size();
    }

    // Where all values are equal, missing ones are cut off.
    void cut_numbers(const Branch& branch, const Range& range, GrownNode& node) {
        auto value = [&](int64_t i) { return values_[at(node.feature, places_[branch.begin + i])]; };
        node.kind = ConditionKind::numeric;
        node.threshold = infinity;
        if (range.low < range.high) {
            const double u = unit(draw(branch.path, cut));
            node.threshold = threshold_between(range.low, range.high, u, branch.size(), value);
            int64_t n_left = 0;
            for (int64_t i = 0; i < branch.size(); ++i) n_left += value(i) <= node.threshold;
            settle_missing(branch, range, n_left, node);
        }
        for (int64_t i = 0; i < branch.size(); ++i)
            goes_left_[i] = goes_numeric(value(i), node.threshold, node.missing_left) == Side::left;
    }

    // Every category draws its side until both have rows. The side with more rows goes left, and the set names its
    // categories. All others, unseen ones included, go right: what is rare here is isolated soon.
    void cut_categories(const Branch& branch, const Range& range, GrownNode& node) {
        auto value = [&](int64_t i) { return values_[at(node.feature, places_[branch.begin + i])]; };
        const std::vector<uint64_t>& keys = table_.category_keys[node.feature];
        const int64_t n_present = branch.size() - range.n_missing;
        int64_t n_left = 0;
        for (uint64_t attempt = 0; n_left == 0 || (n_left == n_present && range.low < range.high); ++attempt) {
            n_left = 0;
            const uint64_t key = draw(branch.path, category_side, attempt);
            for (int64_t i = 0; i < branch.size(); ++i) {
                const double code = value(i);
                goes_left_[i] = !std::isnan(code) && (draw(key, keys[static_cast<size_t>(code)]) & 1) != 0;
                n_left += goes_left_[i];
            }
        }
        const bool swaps = 2 * n_left < n_present;
        if (range.low < range.high) settle_missing(branch, range, swaps ? n_present - n_left : n_left, node);
        named_.clear();
        for (int64_t i = 0; i < branch.size(); ++i) {
            const bool is_missing = std::isnan(value(i));
            goes_left_[i] = is_missing ? node.missing_left : (goes_left_[i] != 0) != swaps;
            if (goes_left_[i] != 0 && !is_missing) named_.push_back(static_cast<uint32_t>(value(i)));
        }
        std::sort(named_.begin(), named_.end());
        named_.erase(std::unique(named_.begin(), named_.end()), named_.end());
        tree_.put_set(named_, (keys.size() + 31) / 32, node);
    }

    // (x − p) · w <= 0 with normal weights w and a point p, uniform in the box of the node (Hariri et al. 2019,
    // algorithm 2). Weights are in units of the box, so that the units of the columns do not matter. The mean of the
    // node stands for a missing value. A side may be empty: rows outside the box may still go there.
    void cut_obliquely(const Branch& branch, GrownNode& node) {
        terms_.clear();
        double threshold = 0;
        for (size_t i = 0; i < chosen_.size(); ++i) {
            const Column column = column_of(branch, chosen_[i]);
            const uint64_t key = draw(branch.path, normal, i);
            const double weight = standard_normal(key) / column.range();
            threshold += weight * between(column.low, column.high, unit(draw(key, cut)));
            terms_.push_back({chosen_[i], weight, column.mean});
        }
        node.kind = ConditionKind::oblique;
        tree_.put_terms(terms_, node);
        node.threshold = std::isnan(threshold) ? 0 : threshold;  // infinities that cancel
        for (int64_t i = 0; i < branch.size(); ++i) {
            const double sum = project(terms_, [&](const ProjectionTerm& term) {
                const double value = values_[at(term.feature, places_[branch.begin + i])];
                return std::isnan(value) ? term.fill : value;
            });
            goes_left_[i] = sum <= node.threshold;
        }
    }

    // Range and mean of the finite values of a node.
    struct Column {
        double low = 0, high = 0, mean = 0;
        double range() const {
            const double range = high - low;
            return range > 0 && std::isfinite(range) && std::isfinite(1 / range) ? range : 1;
        }
    };

    Column column_of(const Branch& branch, int32_t feature) const {
        const double* values = &values_[at(feature, 0)];
        double low = infinity, high = -infinity, mean = 0, n = 0;
        for (int64_t i = branch.begin; i < branch.end; ++i) n += std::isfinite(values[places_[i]]);
        if (n == 0) return {};
        for (int64_t i = branch.begin; i < branch.end; ++i) {
            const double value = values[places_[i]];
            if (!std::isfinite(value)) continue;
            low = std::min(low, value);
            high = std::max(high, value);
            mean += value / n;  // the sum itself may overflow
        }
        return {low, high, mean};
    }

    const IsolationTable& table_;
    const IsolationRules& rules_;
    std::span<const double> path_lengths_;
    int64_t n_sample_ = 0;
    GrownTree tree_;
    std::vector<double> values_;
    std::vector<uint32_t> places_, others_, named_;
    std::vector<int32_t> features_, chosen_;
    std::vector<ProjectionTerm> terms_;
    std::vector<uint8_t> goes_left_;
    std::vector<Branch> open_;  // a stack
    Branch branch_{};           // the node that is split
    int32_t id_ = 0;            // its number
    int64_t middle_ = 0;        // places_ of its left child end here
};

}  // namespace

void content_keys(const std::vector<RawColumn>& columns, const std::vector<std::vector<uint64_t>>& category_keys,
                  int64_t n_rows, int threads, uint64_t* keys, uint8_t* missing) {
    constexpr int64_t block = 256;
    const size_t n_workers = static_cast<size_t>(std::clamp(threads, 1, max_threads));
    std::vector<std::vector<uint8_t>> found(n_workers, std::vector<uint8_t>(columns.size(), 0));
    parallel_blocks(n_rows, block, threads, [&](int64_t begin, int64_t end, int worker) {
        std::fill(keys + begin, keys + end, 0);
        for (size_t c = 0; c < columns.size(); ++c) {
            bool is_missing = false;
            for (int64_t row = begin; row < end; ++row)
                keys[row] += mix(mix(c) ^ value_key(columns[c], category_keys[c], row, is_missing));
            found[worker][c] |= is_missing;
        }
    });
    for (const std::vector<uint8_t>& flags : found)
        for (size_t c = 0; c < columns.size(); ++c) missing[c] |= flags[c];
}

// Keys are hashes: as many buckets as rows hold one or two each.
std::vector<Row> order_by_key(const uint64_t* keys, int64_t n_rows) {
    const int shift = 64 - std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(n_rows))));
    std::vector<uint32_t> start((uint64_t{1} << (64 - shift)) + 1, 0);
    for (int64_t row = 0; row < n_rows; ++row) ++start[(keys[row] >> shift) + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<Row> rows(n_rows);
    for (int64_t row = 0; row < n_rows; ++row) rows[start[keys[row] >> shift]++] = static_cast<Row>(row);
    auto by_key = [keys](Row a, Row b) { return std::pair(keys[a], a) < std::pair(keys[b], b); };
    uint32_t begin = 0;
    for (size_t b = 0; b + 1 < start.size(); begin = start[b++])  // start[b] has become the end of bucket b
        if (start[b] > begin + 1) std::sort(rows.begin() + begin, rows.begin() + start[b], by_key);
    return rows;
}

std::vector<Row> IsolationSample::rows(uint64_t seed, int64_t tree) const {
    const uint64_t key = bootstrap_key(seed, tree);
    std::vector<int64_t> places(n_draws);
    if (n_draws == 0) return pool;
    if (with_replacement)
        draw_with_replacement(key, places);
    else if (weight.empty())
        draw_distinct(key, places);
    else
        draw_distinct_by_weight(key, places);
    std::vector<Row> rows;
    for (int64_t place : places) rows.push_back(pool[place]);
    return rows;
}

void IsolationSample::draw_with_replacement(uint64_t key, std::vector<int64_t>& places) const {
    std::vector<double> cumulative(weight.size());
    std::partial_sum(weight.begin(), weight.end(), cumulative.begin());
    for (int64_t i = 0; i < n_draws; ++i) {
        const double u = unit(draw(key, i));
        places[i] = cumulative.empty()
                        ? static_cast<int64_t>(u * static_cast<double>(size()))
                        : std::upper_bound(cumulative.begin(), cumulative.end() - 1, u * cumulative.back()) -
                              cumulative.begin();
    }
}

void IsolationSample::draw_distinct(uint64_t key, std::vector<int64_t>& places) const {
    std::vector<bool> is_taken(size());
    for (int64_t i = 0, most = size() - n_draws; i < n_draws; ++i, ++most) {
        int64_t pick = static_cast<int64_t>(unit(draw(key, i)) * static_cast<double>(most + 1));
        if (is_taken[pick]) pick = most;
        is_taken[pick] = true;
        places[i] = pick;
    }
}

void IsolationSample::draw_distinct_by_weight(uint64_t key, std::vector<int64_t>& places) const {
    std::vector<std::pair<double, int64_t>> times(size());
    for (int64_t i = 0; i < size(); ++i) times[i] = {-std::log(1 - unit(draw(key, i))) / weight[i], i};
    std::nth_element(times.begin(), times.begin() + (n_draws - 1), times.end());
    std::sort(times.begin(), times.begin() + n_draws);
    for (int64_t i = 0; i < n_draws; ++i) places[i] = times[i].second;
}

GrownForest grow_isolation(const IsolationTable& table, const IsolationSample& sample, const IsolationRules& rules,
                           const TreeRange& range, int threads) {
    GrownForest forest;
    forest.trees.resize(range.n);
    const int64_t n_sample = sample.n_draws > 0 ? sample.n_draws : static_cast<int64_t>(sample.pool.size());
    const std::vector<double> path_lengths = average_path_lengths(n_sample);
    const int workers = std::clamp(threads, 1, max_threads);
    PerThread<IsolationBuilder> builders(workers, IsolationBuilder(table, rules, path_lengths));
    parallel_for(range.n, workers, [&](int64_t i, int worker) {
        const int64_t tree = range.first + i;
        forest.trees[i] = {builders[worker].grow_from(sample.rows(range.seed, tree), tree_key(range.seed, tree)),
                           false};
    });
    return forest;
}

}  // namespace arboretum
