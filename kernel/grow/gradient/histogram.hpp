// Histograms: for every feature and code the sum of the statistics of a node's rows.
#pragma once

#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <type_traits>

#include "base/parallel.hpp"
#include "data/binned_data.hpp"
#include "grow/gradient/feature_selection.hpp"
#include "grow/gradient/lanes.hpp"

namespace arboretum {

// A row of a node with its statistics, kept in leaf order: what partitioning moves and histograms read in sequence.
template <class Layout>
struct Entry {
    typename Layout::Stat stat;
    Row row;
};

constexpr int64_t prefetch_distance = 16;

// Four neighbouring codes, read with one load: histograms are bound by loads and stores, and every sum needs one of
// each anyway.
template <class C>
class FourCodes {
  public:
    explicit FourCodes(const C* codes) { std::memcpy(&word_, codes, sizeof word_); }
    int64_t operator[](int i) const {
        const int place = std::endian::native == std::endian::little ? i : 3 - i;
        return static_cast<C>(word_ >> (8 * static_cast<int>(sizeof(C)) * place));
    }

  private:
    std::conditional_t<sizeof(C) == 1, uint32_t, uint64_t> word_;
};

template <>
class FourCodes<uint32_t> {
  public:
    explicit FourCodes(const uint32_t* codes) : codes_(codes) {}
    int64_t operator[](int i) const { return codes_[i]; }

  private:
    const uint32_t* codes_;
};

// hist[position · bins + code] += stat for all features of one row. `Bins` is an integer, or a constant that the
// compiler folds into the addresses.
template <class Sum, class C, class Bins>
[[gnu::always_inline]] inline void add_row(const C* codes, int64_t n_features, Bins bins, Sum stat, Sum* hist) {
    int64_t p = 0;
    for (; p + 4 <= n_features; p += 4, hist += 4 * bins) {
        const FourCodes<C> four(codes + p);
        hist[four[0]] += stat;
        hist[bins + four[1]] += stat;
        hist[2 * bins + four[2]] += stat;
        hist[3 * bins + four[3]] += stat;
    }
    for (; p < n_features; ++p, hist += bins) hist[codes[p]] += stat;
}

// What 255 bins and the code of missing need: the default, and worth a loop of its own.
using DefaultBins = std::integral_constant<int64_t, 256>;

// Adds the statistics of rows to the histograms of a block, or subtracts them. `positions` lists the wanted features,
// or is empty for all of them (the usual case, where the loop needs no indirection).
template <class Layout, bool subtracts, class C>
void accumulate(const BinnedData& data, const Block& block, const std::vector<int32_t>& positions,
                const Entry<Layout>* entries, int64_t n, typename Layout::Sum* hist) {
    using Sum = typename Layout::Sum;
    const uint8_t* base = data.buffer() + block.offset;
    const int64_t stride = block.stride, bins = block.bins;
    const int64_t n_features = static_cast<int64_t>(block.features.size());
    auto for_each_row = [&](auto&& add) {
        for (int64_t i = 0; i < n; ++i) {
            __builtin_prefetch(base + entries[std::min(i + prefetch_distance, n - 1)].row * stride);
            const Sum stat = Layout::widen(entries[i].stat);
            add(reinterpret_cast<const C*>(base + entries[i].row * stride), subtracts ? Sum{} - stat : stat);
        }
    };
    if (positions.empty() && bins == DefaultBins::value)
        for_each_row([&](const C* codes, Sum stat) { add_row(codes, n_features, DefaultBins{}, stat, hist); });
    else if (positions.empty())
        for_each_row([&](const C* codes, Sum stat) { add_row(codes, n_features, bins, stat, hist); });
    else
        for_each_row([&](const C* codes, Sum stat) {
            for (int32_t p : positions) hist[p * bins + codes[p]] += stat;
        });
}

template <class Layout, bool subtracts>
void accumulate_block(const BinnedData& data, const Block& block, const std::vector<int32_t>& positions,
                      const Entry<Layout>* entries, int64_t n, typename Layout::Sum* hist) {
    switch (block.width) {
        case 1: return accumulate<Layout, subtracts, uint8_t>(data, block, positions, entries, n, hist);
        case 2: return accumulate<Layout, subtracts, uint16_t>(data, block, positions, entries, n, hist);
        default: return accumulate<Layout, subtracts, uint32_t>(data, block, positions, entries, n, hist);
    }
}

// Calls use(entries, n) for the rows of a node, in parts that lie within a few megabytes of a mapped table; each part
// is released before the next is read.
template <class Layout, class Use>
void for_each_window(const BinnedData& data, const Block& block, const Entry<Layout>* entries, int64_t n, Use&& use) {
    constexpr int64_t window_bytes = int64_t{4} << 20;
    if (!data.is_mapped()) return use(entries, n);
    for (const Entry<Layout>* end = entries + n; entries != end;) {
        const int64_t first = entries->row, beyond = first + window_bytes / block.stride;
        const Entry<Layout>* next =
            std::partition_point(entries + 1, end, [=](const Entry<Layout>& entry) { return entry.row < beyond; });
        use(entries, next - entries);
        data.forget_rows(block, first, (next - 1)->row + int64_t{1});
        entries = next;
    }
}

// Bins of bundled features from the bins of their bundle. Every row is in exactly one bin of the bundle, so that the
// default code of a feature has the rows that its other codes leave.
template <class T>
void expand_bundle(const BinnedData& data, int32_t bundle, T* bins) {
    const FeatureCodes& stored = data.feature(data.n_features() + bundle);
    T total{};
    for (Code code = 0; code <= stored.n_bins; ++code) total += bins[stored.first_bin + code];
    for (int32_t f : data.members(bundle)) {
        const FeatureCodes& info = data.feature(f);
        const T* others = bins + stored.first_bin + info.first_stored;
        T* own = bins + info.first_bin;
        own[info.n_bins] = T{};
        T rest = total;
        for (Code place = 0; place < info.n_others; ++place) {
            own[place + (place >= info.default_code)] = others[place];
            rest -= others[place];
        }
        own[info.default_code] = rest;
    }
}

template <class Layout>
class HistogramBuilder {
  public:
    using Sum = typename Layout::Sum;

    HistogramBuilder(const BinnedData& data, const FeatureSelection& selection, int threads)
        : data_(data), selection_(selection), partial_(threads) {}

    // hist: n_total_bins sums, of which those of the first n_blocks blocks are overwritten.
    void build(const Entry<Layout>* entries, int64_t n, Sum* hist, int32_t n_blocks, int threads) {
        const std::span<const int32_t> blocks = wanted(0, n_blocks);
        if (threads > 1 && static_cast<int64_t>(blocks.size()) < 4 * threads)
            build_by_rows(entries, n, hist, blocks, threads);
        else
            parallel_for(static_cast<int64_t>(blocks.size()), threads,
                         [&](int64_t i, int) { build_block(blocks[i], entries, n, hist); });
    }

    // larger = parent − smaller, in place. Bins of blocks without a wanted feature were never written.
    void subtract(Sum* parent, const Sum* smaller, int32_t n_blocks) const {
        auto subtract_bins = [&](int64_t first, int64_t n) {
            for (int64_t i = first; i < first + n; ++i) parent[i] -= smaller[i];
        };
        for (int32_t b : wanted(0, n_blocks)) {
            const Block& block = data_.blocks()[b];
            subtract_bins(block.first_bin, block.bins * static_cast<int64_t>(block.features.size()));
            for (int32_t stored : block.features) {
                if (data_.bundle_of(stored) < 0) continue;
                for (int32_t f : data_.members(data_.bundle_of(stored)))
                    subtract_bins(data_.feature(f).first_bin, static_cast<int64_t>(data_.feature(f).n_bins) + 1);
            }
        }
    }

    // The same in blocks [first, last) from the rows of the smaller one.
    void subtract_rows(Sum* parent, const Entry<Layout>* entries, int64_t n, int32_t first, int32_t last) {
        for (int32_t b : wanted(first, last)) {
            const Block& block = data_.blocks()[b];
            for_each_window(data_, block, entries, n, [&](const Entry<Layout>* part, int64_t size) {
                accumulate_block<Layout, true>(data_, block, selection_.positions[b], part, size,
                                               parent + block.first_bin);
            });
            expand_bundles(block, parent);
        }
    }

    // From listed rows: each has the default code of all features but those of its list. rows: of each bin.
    void build_listed(const Entry<Layout>* entries, int64_t n, Sum* hist, uint32_t* rows) const {
        std::fill_n(hist, data_.n_total_bins(), Sum{});
        std::fill_n(rows, data_.n_total_bins(), 0);
        Sum total{};
        for (int64_t i = 0; i < n; ++i) {
            const Sum stat = Layout::widen(entries[i].stat);
            total += stat;
            for (uint32_t bin : data_.listed(entries[i].row)) {
                hist[bin] += stat;
                ++rows[bin];
            }
        }
        for (int32_t f = 0; f < data_.n_features(); ++f) {
            const int64_t first = data_.feature(f).first_bin, end = first + data_.feature(f).n_bins + 1;
            hist[data_.default_bin(f)] = std::accumulate(hist + first, hist + end, total, std::minus{});
            rows[data_.default_bin(f)] =
                std::accumulate(rows + first, rows + end, static_cast<uint32_t>(n), std::minus{});
        }
    }

    // larger = parent − smaller, in place, from the listed rows of the smaller one.
    void subtract_listed(Sum* parent, uint32_t* rows, const Entry<Layout>* entries, int64_t n) const {
        Sum total{};
        for (int64_t i = 0; i < n; ++i) {
            const Sum stat = Layout::widen(entries[i].stat);
            total += stat;
            for (uint32_t bin : data_.listed(entries[i].row)) {
                const int64_t by_default = data_.default_bin(data_.feature_of_bin(bin));
                parent[bin] -= stat;
                parent[by_default] += stat;
                --rows[bin];
                ++rows[by_default];
            }
        }
        for (int32_t f = 0; f < data_.n_features(); ++f) {
            parent[data_.default_bin(f)] -= total;
            rows[data_.default_bin(f)] -= static_cast<uint32_t>(n);
        }
    }

  private:
    static constexpr int64_t row_chunk = 4096;

    // Blocks in [first, last) with a wanted feature.
    std::span<const int32_t> wanted(int32_t first, int32_t last) const {
        const std::vector<int32_t>& all = selection_.blocks;
        return {std::lower_bound(all.begin(), all.end(), first), std::lower_bound(all.begin(), all.end(), last)};
    }

    void build_block(int32_t b, const Entry<Layout>* entries, int64_t n, Sum* hist) {
        const Block& block = data_.blocks()[b];
        Sum* block_hist = hist + block.first_bin;
        std::fill_n(block_hist, block.bins * static_cast<int64_t>(block.features.size()), Sum{});
        for_each_window(data_, block, entries, n, [&](const Entry<Layout>* part, int64_t size) {
            accumulate_block<Layout, false>(data_, block, selection_.positions[b], part, size, block_hist);
        });
        expand_bundles(block, hist);
    }

    void expand_bundles(const Block& block, Sum* hist) {
        for (int32_t stored : block.features)
            if (data_.bundle_of(stored) >= 0) expand_bundle(data_, data_.bundle_of(stored), hist);
    }

    // Few blocks: threads share the rows, each sums into its own copy, and the copies are added.
    void build_by_rows(const Entry<Layout>* entries, int64_t n, Sum* hist, std::span<const int32_t> blocks,
                       int threads) {
        const int64_t n_bins = data_.n_stored_bins();
        std::vector<uint8_t> used(threads, 0);
        auto copy_of = [&](int worker) { return worker == 0 ? hist : partial_[worker].data(); };
        std::fill_n(hist, n_bins, Sum{});
        parallel_blocks(n, row_chunk, threads, [&](int64_t begin, int64_t end, int worker) {
            if (worker > 0 && !used[worker]) partial_[worker].assign(n_bins, Sum{});
            used[worker] = 1;
            for (int32_t b : blocks) {
                const Block& block = data_.blocks()[b];
                Sum* block_hist = copy_of(worker) + block.first_bin;
                for_each_window(data_, block, entries + begin, end - begin, [&](const Entry<Layout>* part, int64_t n) {
                    accumulate_block<Layout, false>(data_, block, selection_.positions[b], part, n, block_hist);
                });
            }
        });
        for (int worker = 1; worker < threads; ++worker) {
            if (!used[worker]) continue;
            const Sum* partial = partial_[worker].data();
            for (int64_t i = 0; i < n_bins; ++i) hist[i] += partial[i];
        }
        for (int32_t b : blocks) expand_bundles(data_.blocks()[b], hist);
    }

    const BinnedData& data_;
    const FeatureSelection& selection_;
    std::vector<std::vector<Sum>> partial_;
};

}  // namespace arboretum
