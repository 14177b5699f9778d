#include "data/bundling.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "base/parallel.hpp"

namespace arboretum {

namespace {

struct BundleLimits {
    double least_default = 0.8;  // share of rows that have the default code
    Code most_codes = 4095;      // of a bundle but for the default: its histogram should stay in the first cache
    size_t most_open = 64;       // bundles that a feature is tried with; the fullest is closed first
    double least_saving = 0.25;  // share of the bytes of a row
};

// A feature that nearly always has its default code.
struct RareFeature {
    int32_t feature;
    BundlePlace place;
    Code n_others;
    std::vector<Row> rows;  // with another code, rising
};

class Colouring {
  public:
    Colouring(const std::vector<RareFeature>& features, int64_t n_rows, const BundleLimits& limits)
        : features_(features), n_rows_(n_rows), limits_(limits) {}

    // Bundle of each feature; a bundle may have a single one.
    std::vector<int32_t> run() {
        std::vector<int32_t> order(features_.size());
        std::iota(order.begin(), order.end(), 0);
        std::vector<int32_t> by_name = colour(order);
        const size_t n_by_name = bundles_.size();
        std::stable_sort(order.begin(), order.end(),
                         [&](int32_t a, int32_t b) { return features_[a].rows.size() > features_[b].rows.size(); });
        std::vector<int32_t> by_rows = colour(order);
        return n_by_name <= bundles_.size() ? by_name : by_rows;
    }

  private:
    struct Bundle {
        std::vector<uint64_t> taken;  // one bit per row; none once the bundle is closed
        int64_t n_taken = 0;
        Code n_codes = 0;
    };

    std::vector<int32_t> colour(const std::vector<int32_t>& order) {
        bundles_.clear();
        open_.clear();
        std::vector<int32_t> colours(features_.size());
        for (int32_t i : order) {
            colours[i] = choose(features_[i]);
            join(features_[i], bundles_[colours[i]]);
            if (bundles_[colours[i]].n_taken == n_rows_) close(colours[i]);
        }
        return colours;
    }

    int32_t choose(const RareFeature& feature) {
        for (auto it = open_.rbegin(); it != open_.rend(); ++it)
            if (fits(feature, bundles_[*it])) return *it;
        if (open_.size() == limits_.most_open) close(fullest());
        open_.push_back(static_cast<int32_t>(bundles_.size()));
        bundles_.push_back({std::vector<uint64_t>(n_rows_ / 64 + 1), 0, 0});
        return open_.back();
    }

    int32_t fullest() const {
        return *std::max_element(open_.begin(), open_.end(),
                                 [&](int32_t a, int32_t b) { return bundles_[a].n_taken < bundles_[b].n_taken; });
    }

    void close(int32_t bundle) {
        std::erase(open_, bundle);
        bundles_[bundle].taken = {};
    }

    bool fits(const RareFeature& feature, const Bundle& bundle) const {
        return bundle.n_codes + feature.n_others <= limits_.most_codes &&
               std::none_of(feature.rows.begin(), feature.rows.end(),
                            [&](Row row) { return ((bundle.taken[row / 64] >> (row % 64)) & 1) != 0; });
    }

    static void join(const RareFeature& feature, Bundle& bundle) {
        for (Row row : feature.rows) bundle.taken[row / 64] |= 1ull << (row % 64);
        bundle.n_taken += static_cast<int64_t>(feature.rows.size());
        bundle.n_codes += feature.n_others;
    }

    const std::vector<RareFeature>& features_;
    int64_t n_rows_;
    BundleLimits limits_;
    std::vector<Bundle> bundles_;
    std::vector<int32_t> open_;  // bundles that may be joined, the youngest last
};

// Drops features that share a bundle with no other, and numbers the bundles of the rest in the order of features.
std::vector<RareFeature> keep_shared(std::vector<RareFeature> features, const std::vector<int32_t>& colours) {
    std::vector<int> size(features.size() + 1, 0);
    for (int32_t colour : colours) ++size[colour];
    std::vector<int32_t> number(size.size(), -1);
    std::vector<RareFeature> shared;
    int32_t n_bundles = 0;
    for (size_t i = 0; i < features.size(); ++i) {
        if (size[colours[i]] < 2) continue;
        if (number[colours[i]] < 0) number[colours[i]] = n_bundles++;
        features[i].place.bundle = number[colours[i]];
        shared.push_back(std::move(features[i]));
    }
    return shared;
}

// A place for every feature; none if bundles would save little.
std::vector<BundlePlace> place_bundles(std::vector<RareFeature> rare, const std::vector<Code>& n_bins, int64_t n_rows,
                                       const BundleLimits& limits) {
    std::vector<int32_t> colours = Colouring(rare, n_rows, limits).run();
    rare = keep_shared(std::move(rare), colours);
    std::vector<BundlePlace> places(n_bins.size());
    for (const RareFeature& feature : rare) places[feature.feature] = feature.place;
    const BinnedData plain(n_rows, n_bins, std::vector<bool>(n_bins.size()));
    const BinnedData bundled(n_rows, n_bins, std::vector<bool>(n_bins.size()), places);
    const double most = (1 - limits.least_saving) * static_cast<double>(plain.bytes_per_row());
    return static_cast<double>(bundled.bytes_per_row()) <= most ? places : std::vector<BundlePlace>{};
}

// Separates the default code of a column from all others without searching for the code.
class DefaultTest {
  public:
    DefaultTest(const std::vector<double>& cuts, Code n_bins, Code default_code, bool categorical)
        : missing_(default_code == n_bins), category_(default_code), n_categories_(categorical ? n_bins : 0) {
        if (categorical || missing_) return;
        if (default_code > 0) lower_ = cuts[default_code - 1];
        if (default_code < cuts.size()) upper_ = cuts[default_code];
    }

    bool holds(double value) const {
        return std::isnan(value) ? missing_ : !missing_ && !(value <= lower_) && !(value > upper_);
    }
    bool holds(int32_t code) const { return is_missing(code) ? missing_ : static_cast<Code>(code) == category_; }
    bool is_missing(double value) const { return std::isnan(value); }
    bool is_missing(int32_t code) const { return code < 0 || static_cast<Code>(code) >= n_categories_; }

  private:
    bool missing_;
    Code category_;
    Code n_categories_;
    double lower_ = std::numeric_limits<double>::quiet_NaN();  // nothing is below
    double upper_ = std::numeric_limits<double>::quiet_NaN();
};

class DenseBundler {
  public:
    DenseBundler(const std::vector<RawColumn>& columns, int64_t n_rows, const std::vector<std::vector<double>>& cuts,
                 const std::vector<Code>& n_bins, const BundleLimits& limits, int threads)
        : columns_(columns), n_rows_(n_rows), cuts_(cuts), n_bins_(n_bins), limits_(limits), threads_(threads) {}

    std::vector<BundlePlace> run() {
        const std::vector<Row> sample = sample_rows(n_rows_, sample_size);
        std::vector<RareFeature> rare = candidates(sample);
        if (rare.size() < 2) return {};
        const int64_t n_sampled = static_cast<int64_t>(sample.size());
        list_rows(rare, n_sampled, [&](int64_t i) { return sample[i]; });
        std::vector<int32_t> colours = Colouring(rare, n_sampled, limits_).run();
        rare = keep_shared(std::move(rare), colours);
        if (rare.size() < 2) return {};
        list_rows(rare, n_rows_, [](int64_t i) { return static_cast<Row>(i); });
        return place_bundles(std::move(rare), n_bins_, n_rows_, limits_);
    }

  private:
    static constexpr int64_t sample_size = 4096;
    static constexpr size_t probe_size = 32;

    std::vector<RareFeature> candidates(const std::vector<Row>& sample) const {
        const int64_t n = static_cast<int64_t>(columns_.size());
        std::vector<uint8_t> is_rare(n, 0);
        std::vector<Code> defaults(n);
        parallel_blocks(n, 8, threads_, [&](int64_t begin, int64_t end, int) {
            for (int64_t f = begin; f < end; ++f) is_rare[f] = find_default(f, sample, defaults[f]);
        });
        std::vector<RareFeature> rare;
        for (int64_t f = 0; f < n; ++f)
            if (is_rare[f]) rare.push_back({static_cast<int32_t>(f), {-1, defaults[f], false}, 0, {}});
        return rare;
    }

    // The most frequent code of the sample, the least of several; false if it is not frequent enough.
    bool find_default(int64_t f, const std::vector<Row>& sample, Code& default_code) const {
        const int64_t n = static_cast<int64_t>(sample.size());
        if (n_bins_[f] > limits_.most_codes || !probe(f, sample)) return false;
        std::vector<uint32_t> counts(static_cast<size_t>(n_bins_[f]) + 1, 0);
        for (Row row : sample) ++counts[code_at(f, row)];
        const auto most = std::max_element(counts.begin(), counts.end());
        default_code = static_cast<Code>(most - counts.begin());
        return *most >= limits_.least_default * static_cast<double>(n);
    }

    // A glance at a few rows, spread over the table: whether one code has half of them.
    bool probe(int64_t f, const std::vector<Row>& sample) const {
        const size_t n = std::min(probe_size, sample.size());
        std::array<Code, probe_size> codes;
        for (size_t i = 0; i < n; ++i) codes[i] = code_at(f, sample[i * sample.size() / n]);
        std::sort(codes.begin(), codes.begin() + n);
        for (size_t i = 0; i + n / 2 < n; ++i)
            if (codes[i] == codes[i + n / 2]) return true;
        return false;
    }

    Code code_at(int64_t f, Row row) const {
        if (columns_[f].type != ValueType::category) return code_of(columns_[f].number(row), cuts_[f], n_bins_[f]);
        const int32_t code = columns_[f].at<int32_t>(row);
        return code >= 0 && static_cast<Code>(code) < n_bins_[f] ? static_cast<Code>(code) : n_bins_[f];
    }

    // Lists the rows, by their place among the n that row_at gives, where features leave their default code.
    template <class RowAt>
    void list_rows(std::vector<RareFeature>& rare, int64_t n, RowAt&& row_at) const {
        parallel_blocks(static_cast<int64_t>(rare.size()), column_group, threads_,
                        [&](int64_t begin, int64_t end, int) {
                            std::vector<DefaultTest> tests;
                            for (int64_t i = begin; i < end; ++i) {
                                const int32_t f = rare[i].feature;
                                tests.emplace_back(cuts_[f], n_bins_[f], rare[i].place.default_code,
                                                   columns_[f].type == ValueType::category);
                                rare[i].rows.clear();
                                rare[i].place.has_missing = rare[i].place.default_code == n_bins_[f];
                            }
                            for (int64_t j = 0; j < n; ++j) {
                                columns_[rare[begin].feature].prefetch(row_at(std::min(j + rows_ahead, n - 1)));
                                for (int64_t i = begin; i < end; ++i)
                                    list_row(tests[i - begin], row_at(j), static_cast<Row>(j), rare[i]);
                            }
                            for (int64_t i = begin; i < end; ++i)
                                rare[i].n_others = rare[i].place.n_others(n_bins_[rare[i].feature]);
                        });
    }

    void list_row(const DefaultTest& test, Row row, Row place, RareFeature& rare) const {
        const RawColumn& column = columns_[rare.feature];
        auto look = [&](auto value) {
            if (test.holds(value)) return;
            rare.rows.push_back(place);
            rare.place.has_missing |= test.is_missing(value);
        };
        if (column.type == ValueType::category)
            look(column.at<int32_t>(row));
        else
            look(column.number(row));
    }

    const std::vector<RawColumn>& columns_;
    int64_t n_rows_;
    const std::vector<std::vector<double>>& cuts_;
    const std::vector<Code>& n_bins_;
    BundleLimits limits_;
    int threads_;
};

}  // namespace

std::vector<BundlePlace> bundle_dense(const std::vector<RawColumn>& columns, int64_t n_rows,
                                      const std::vector<std::vector<double>>& cuts, const std::vector<Code>& n_bins,
                                      int threads) {
    return DenseBundler(columns, n_rows, cuts, n_bins, {}, threads).run();
}

std::vector<BundlePlace> bundle_sparse(const std::vector<SparseColumn>& columns, int64_t n_rows,
                                       const std::vector<std::vector<double>>& cuts, const std::vector<Code>& n_bins,
                                       int threads) {
    const BundleLimits limits;
    std::vector<RareFeature> all(columns.size());
    parallel_blocks(static_cast<int64_t>(columns.size()), 16, threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t f = begin; f < end; ++f) {
            const Code zero = code_of(0.0, cuts[f], n_bins[f]);
            RareFeature& rare = all[f];
            rare.feature = static_cast<int32_t>(f);
            rare.place.default_code = zero;
            const SparseColumn& column = columns[f];
            for (int64_t i = 0; i < column.n; ++i) {
                const Code code = code_of(column.values[i], cuts[f], n_bins[f]);
                if (code == zero) continue;
                rare.rows.push_back(column.rows[i]);
                rare.place.has_missing |= code == n_bins[f];
            }
            rare.n_others = rare.place.n_others(n_bins[f]);
            if (static_cast<double>(rare.rows.size()) > (1 - limits.least_default) * static_cast<double>(n_rows) ||
                rare.n_others > limits.most_codes)
                rare = {-1, {}, 0, {}};
        }
    });
    std::erase_if(all, [](const RareFeature& rare) { return rare.feature < 0; });
    return place_bundles(std::move(all), n_bins, n_rows, limits);
}

}  // namespace arboretum
