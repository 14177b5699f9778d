// Rows and sums of a tree in one layout of statistics.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "base/parallel.hpp"
#include "base/per_thread.hpp"
#include "grow/gradient/histogram.hpp"
#include "grow/gradient/partition.hpp"
#include "grow/gradient/tree_rows.hpp"
#include "grow/gradient/workspace.hpp"

namespace arboretum {

template <class Layout>
class TreeRowsAs : public TreeRows {
  public:
    using Sum = typename Layout::Sum;

    TreeRowsAs(const BinnedData& data, const LaneScale& scale, const FeatureSelection& selection, int threads,
               Workspace& space)
        : data_(data),
          scale_(scale),
          threads_(threads),
          space_(space),
          builder_(data, selection, threads),
          scratch_(threads) {}

    // Makes the entries of the root; returns the sum of their statistics.
    template <class Real>
    WideSum fill(const TreeSample<Real>& sample) {
        const int64_t n_rows = sample.n_rows;
        for (Buffer& buffer : space_.entries) buffer.get<Entry<Layout>>(n_rows);
        space_.flags.get<uint8_t>(n_rows);
        std::vector<WideSum> sums((n_rows + fill_block - 1) / fill_block);
        parallel_blocks(n_rows, fill_block, threads_, [&](int64_t begin, int64_t end, int) {
            WideSum sum;
            for (int64_t first = begin; first < end; first += chunk)
                sum += fill_chunk(sample, first, std::min(end, first + chunk));
            sums[begin / fill_block] = sum;
        });
        WideSum total;
        for (const WideSum& sum : sums) total += sum;
        return total;
    }

    RowNumbers numbers(const RowRange& rows) const override { return {entries(rows), rows.size()}; }

    std::array<RowRange, 2> partition(int32_t feature, const std::vector<uint8_t>& left, const RowRange& rows,
                                      int threads) override {
        const RowRange target{1 - rows.buffer, rows.begin, rows.end};
        const int64_t middle =
            rows.begin + arboretum::partition<Layout>(data_, feature, left, entries(rows), entries(target),
                                                      space_.flags.get<uint8_t>() + rows.begin, rows.size(), threads);
        return {RowRange{target.buffer, rows.begin, middle}, {target.buffer, middle, rows.end}};
    }

    void count(const RowRange& rows, int32_t feature, Code first, int64_t* counts) const override {
        for_each_code(rows, feature, [&](Code code) {
            if (code >= first) ++counts[code - first];
            return true;
        });
    }

    void count_listed(const RowRange& rows, std::vector<int32_t>& counts) const override {
        const Entry<Layout>* own = entries(rows);
        for (int64_t i = 0; i < rows.size(); ++i)
            for (uint32_t bin : data_.listed(own[i].row)) ++counts[data_.feature_of_bin(bin)];
    }

    bool both_sides_have(const RowRange& rows, int32_t feature, Code threshold, bool missing_left,
                         int64_t least) const override {
        const Code missing = data_.feature(feature).n_bins;
        constexpr int64_t stretch = 64;  // rows between two looks at the result: without a branch per row
        RowRange some = rows;
        int64_t lefts = 0, seen = 0;
        while (seen < rows.size() && (lefts < least || seen - lefts < least)) {
            some.begin = rows.begin + seen;
            some.end = std::min(rows.end, some.begin + stretch);
            for_each_code(some, feature, [&](Code code) {
                lefts += code == missing ? missing_left : code <= threshold;
                return true;
            });
            seen += some.size();
        }
        return lefts >= least && seen - lefts >= least;
    }

    void mark_right(const RowRange& rows, int32_t feature, std::vector<uint8_t>& seen) const override {
        for_each_code(rows, feature, [&](Code code) {
            seen[code] = 1;
            return true;
        });
    }

    // │ sum of each bin │ rows of each bin, where rows are listed │
    int64_t histogram_bytes() const override {
        return static_cast<int64_t>(sizeof(Sum) + (data_.is_listed() ? sizeof(uint32_t) : 0)) * data_.n_total_bins();
    }

    void build(const RowRange& rows, Bins* bins, int32_t n_blocks, int threads) override {
        Sum* sums = reinterpret_cast<Sum*>(bins);
        if (data_.is_listed())
            builder_.build_listed(entries(rows), rows.size(), sums, bin_rows(bins));
        else
            builder_.build(entries(rows), rows.size(), sums, n_blocks, threads);
    }

    void subtract(Bins* parent, const Bins* smaller, int32_t n_blocks) const override {
        builder_.subtract(reinterpret_cast<Sum*>(parent), of(smaller), n_blocks);
    }

    void subtract_rows(Bins* parent, const RowRange& smaller, int32_t first, int32_t last) override {
        builder_.subtract_rows(reinterpret_cast<Sum*>(parent), entries(smaller), smaller.size(), first, last);
    }

    void subtract_listed(Bins* parent, const RowRange& smaller) const override {
        builder_.subtract_listed(reinterpret_cast<Sum*>(parent), bin_rows(parent), entries(smaller), smaller.size());
    }

    const uint32_t* rows_by_bin(const Bins* bins) const override {
        return data_.is_listed() ? bin_rows(const_cast<Bins*>(bins)) : nullptr;
    }

    WideSum sum(const Bins* bins, int64_t bin) const override { return Layout::unpack(of(bins)[bin]); }

    void add_sums(const Bins* bins, int64_t first, int64_t n, WideSum* out) const override {
        for (int64_t i = 0; i < n; ++i) out[i] += Layout::unpack(of(bins)[first + i]);
    }

    void load(const Bins* bins, const FeatureCodes& info, int thread, FeatureSums& sums) override {
        std::vector<Sum>& running = scratch_[thread].running;
        const Sum* hist = of(bins) + info.first_bin;
        const int64_t n = info.n_bins;
        if (static_cast<int64_t>(running.size()) < n) running.resize(n);
        Sum total{};
        for (int64_t i = 0; i < n; ++i) running[i] = total += hist[i];
        unpack_sums(running.data(), n, 1 / scale_.gradient, 1 / scale_.hessian, sums.gradient.data(),
                    sums.hessian.data());
        sums.missing = Layout::unpack(hist[n]);
    }

    int64_t load_cuts(const Bins* bins, std::span<const int32_t> features, int thread, FeatureSums& sums) override {
        std::vector<Sum>& running = scratch_[thread].running;
        int64_t n = 0;
        for (int32_t f : features) n += n_cuts(data_.feature(f));
        sums.reserve(n);
        if (static_cast<int64_t>(running.size()) < n) running.resize(n);
        Sum* next = running.data();
        for (int32_t f : features) {
            const Sum* hist = of(bins) + data_.feature(f).first_bin;
            Sum total{};
            for (int64_t i = 0; i < n_cuts(data_.feature(f)); ++i) *next++ = total += hist[i];
        }
        unpack_sums(running.data(), n, 1 / scale_.gradient, 1 / scale_.hessian, sums.gradient.data(),
                    sums.hessian.data());
        return n;
    }

    WideSum loaded(int64_t entry, int thread) const override { return Layout::unpack(scratch_[thread].running[entry]); }

    void load_ordered(const Bins* bins, const FeatureCodes& info, const std::vector<Code>& order,
                      FeatureSums& sums) const override {
        Sum running{};
        for (size_t i = 0; i < order.size(); ++i) {
            running += of(bins)[info.first_bin + order[i]];
            const WideSum sum = Layout::unpack(running);
            sums.gradient[i] = scale_.gradient_of(sum);
            sums.hessian[i] = scale_.hessian_of(sum);
        }
        sums.missing = {};
    }

    void gather(const RowRange& rows, int32_t first, int32_t last, int thread, UsedBins& used) override {
        std::vector<Sum>& sums = scratch_[thread].bin_sums;
        sums.resize(data_.n_total_bins());
        used.rows.resize(data_.n_total_bins());
        used.marks.resize(data_.n_total_bins() / 64 + 1);
        scratch_[thread].n_rows = rows.size();
        if (data_.is_listed()) return gather_listed(rows, scratch_[thread], used);
        for (const Block& block : std::span(data_.blocks()).subspan(first, last - first)) {
            switch (block.width) {
                case 1: gather_block<uint8_t>(rows, block, sums, used); break;
                case 2: gather_block<uint16_t>(rows, block, sums, used); break;
                default: gather_block<uint32_t>(rows, block, sums, used);
            }
            for (int32_t stored : block.features)
                if (data_.bundle_of(stored) >= 0) expand_gathered(data_.bundle_of(stored), sums, used);
        }
    }

    void load_gathered(std::span<const int32_t> features, int thread, const UsedBins& used, FeatureSums& sums,
                       int64_t* ends) override {
        Scratch& scratch = scratch_[thread];
        int64_t most = 0, n = 0;
        for (int32_t f : features) most += std::min<int64_t>(data_.feature(f).n_bins, scratch.n_rows);
        sums.reserve(most);
        if (static_cast<int64_t>(scratch.running.size()) < most) scratch.running.resize(most);
        for (int32_t f : features) {
            const FeatureCodes& info = data_.feature(f);
            n = data_.is_listed() ? list_gathered<true>(info, n, scratch, used, sums)
                                  : list_gathered<false>(info, n, scratch, used, sums);
            *ends++ = n;
            const int64_t missing = info.first_bin + info.n_bins;
            sums.missing = Layout::unpack(scratch.bin_sums[missing]);
            sums.missing_rows = counts_rows() ? used.rows[missing] : sums.missing.hessian;
        }
        unpack_sums(scratch.running.data(), n, 1 / scale_.gradient, 1 / scale_.hessian, sums.gradient.data(),
                    sums.hessian.data());
        if (counts_rows()) return;
        for (int64_t i = 0; i < n; ++i) sums.rows[i] = Layout::unpack(scratch.running[i]).hessian;
    }

    void clear_gathered(int thread, UsedBins& used) override {
        Sum* sums = scratch_[thread].bin_sums.data();
        if (counts_rows())
            used.for_each(0, data_.n_total_bins(), [&](int64_t bin) { sums[bin] = Sum{}, used.rows[bin] = 0; });
        else
            used.for_each(0, data_.n_total_bins(), [&](int64_t bin) { sums[bin] = Sum{}; });
        std::fill(used.marks.begin(), used.marks.end(), 0);
    }

    int64_t stat_bytes() const override { return sizeof(typename Layout::Stat); }

    int64_t sum_bytes() const override { return sizeof(Sum); }

    void copy_stats(const RowRange& rows, std::byte* out) const override {
        const Entry<Layout>* own = entries(rows);
        for (int64_t i = 0; i < rows.size(); ++i) std::memcpy(out + i * stat_bytes(), &own[i].stat, sizeof own[i].stat);
    }

  protected:
    Entry<Layout>* entries(const RowRange& rows) const {
        return space_.entries[rows.buffer].template get<Entry<Layout>>() + rows.begin;
    }

  private:
    static constexpr int64_t chunk = 1024, fill_block = 16 * chunk;

    struct Scratch {
        std::vector<Sum> running;
        std::vector<Sum> bin_sums;  // zero between nodes
        Sum total{};                // of the node that was gathered, where rows are listed
        int64_t n_rows = 0;         // of that node
    };

    static const Sum* of(const Bins* bins) { return reinterpret_cast<const Sum*>(bins); }

    uint32_t* bin_rows(Bins* bins) const {
        return reinterpret_cast<uint32_t*>(bins + static_cast<int64_t>(sizeof(Sum)) * data_.n_total_bins());
    }

    // visit(code) until it returns false; returns whether all rows were visited.
    template <class Visit>
    bool for_each_code(const RowRange& rows, int32_t feature, Visit&& visit) const {
        const Entry<Layout>*own = entries(rows), *end = own + rows.size();
        const FeatureCodes& info = data_.feature(feature);
        return data_.with_column(data_.stored_in(feature), [&](const auto* column) {
            if (info.bundle < 0)
                return std::all_of(own, end, [&](const auto& entry) { return visit(column[entry.row]); });
            return std::all_of(own, end, [&](const auto& entry) { return visit(info.from_stored(column[entry.row])); });
        });
    }

    template <class Real>
    WideSum fill_chunk(const TreeSample<Real>& sample, int64_t begin, int64_t end) {
        typename Layout::Stat stats[chunk];
        const int64_t n = end - begin;
        if constexpr (std::is_same_v<Layout, Wide>)
            for (int64_t i = 0; i < n; ++i)
                stats[i] = wide_stat(sample.gradients[begin + i], sample.hessians[begin + i], scale_);
        else
            quantise_rows(sample.gradients + begin, sample.hessians + begin, n, scale_.gradient, scale_.hessian, stats);
        Entry<Layout>* filled = entries({0, begin, end});
        Sum sum{};
        for (int64_t i = 0; i < n; ++i) {
            filled[i] = {stats[i], sample.row(begin + i)};
            sum += Layout::widen(stats[i]);
        }
        return Layout::unpack(sum);
    }

    // Default codes have the rows that the others leave.
    void gather_listed(const RowRange& rows, Scratch& scratch, UsedBins& used) const {
        const Entry<Layout>* own = entries(rows);
        Sum* sums = scratch.bin_sums.data();
        uint32_t* counted = used.rows.data();
        uint64_t* marks = used.marks.data();
        Sum total{};
        for (int64_t i = 0; i < rows.size(); ++i) {
            const Sum stat = Layout::widen(own[i].stat);
            total += stat;
            for (uint32_t bin : data_.listed(own[i].row)) {
                sums[bin] += stat;
                ++counted[bin];
                marks[bin / 64] |= 1ull << (bin % 64);
            }
        }
        scratch.total = total;
    }

    // Whether the rows of gathered bins are counted: hessians may tell them.
    bool counts_rows() const { return data_.is_listed() || !scale_.hessian_counts_rows; }

    template <class C>
    void gather_block(const RowRange& rows, const Block& block, std::vector<Sum>& sums, UsedBins& used) const {
        if (counts_rows())
            gather_codes<C, true>(rows, block, sums.data(), used.rows.data(), used.marks.data());
        else
            gather_codes<C, false>(rows, block, sums.data(), nullptr, used.marks.data());
    }

    template <class C, bool counts>
    void gather_codes(const RowRange& rows, const Block& block, Sum* sums, uint32_t* counted, uint64_t* marks) const {
        const Entry<Layout>* own = entries(rows);
        const auto n_features = static_cast<int64_t>(block.features.size());
        for (int64_t i = 0; i < rows.size(); ++i) {
            const C* codes = reinterpret_cast<const C*>(data_.row_codes(block, own[i].row));
            const Sum stat = Layout::widen(own[i].stat);
            int64_t first = block.first_bin;
            for (int64_t p = 0; p < n_features; ++p, first += block.bins) {
                const int64_t bin = first + codes[p];
                sums[bin] += stat;
                if constexpr (counts) ++counted[bin];
                marks[bin / 64] |= 1ull << (bin % 64);
            }
        }
    }

    void expand_gathered(int32_t bundle, std::vector<Sum>& sums, UsedBins& used) const {
        expand_bundle(data_, bundle, sums.data());
        if (counts_rows()) expand_bundle(data_, bundle, used.rows.data());
        for (int32_t f : data_.members(bundle))
            for (int64_t bin = data_.feature(f).first_bin, n = data_.feature(f).n_bins; n >= 0; ++bin, --n) {
                const bool occurs = counts_rows() ? used.rows[bin] > 0 : !(sums[bin] == Sum{});
                used.marks[bin / 64] |= static_cast<uint64_t>(occurs) << (bin % 64);
            }
    }

    // Adds the entries of a feature to the list that has n; returns how many there are then.
    template <bool listed>
    int64_t list_gathered(const FeatureCodes& info, int64_t n, Scratch& scratch, const UsedBins& used,
                          FeatureSums& sums) const {
        Sum running{};
        int64_t rows = 0;
        auto add = [&](Code code, const Sum& bin_sum, int64_t bin_rows) {
            scratch.running[n] = running += bin_sum;
            sums.rows[n] = rows += bin_rows;
            sums.codes[n++] = code;
        };
        auto add_codes = [&](Code begin, Code end) {
            used.for_each(info.first_bin + begin, info.first_bin + end, [&](int64_t bin) {
                add(static_cast<Code>(bin - info.first_bin), scratch.bin_sums[bin], used.rows[bin]);
            });
        };
        if constexpr (!listed) {
            add_codes(0, info.n_bins);
            return n;
        }
        Sum others{};
        int64_t other_rows = 0;
        used.for_each(info.first_bin, info.first_bin + info.n_bins + int64_t{1}, [&](int64_t bin) {
            others += scratch.bin_sums[bin];
            other_rows += used.rows[bin];
        });
        add_codes(0, info.default_code);
        if (other_rows < scratch.n_rows) add(info.default_code, scratch.total - others, scratch.n_rows - other_rows);
        add_codes(info.default_code + 1, info.n_bins);
        return n;
    }

    const BinnedData& data_;
    const LaneScale& scale_;
    int threads_;
    Workspace& space_;
    HistogramBuilder<Layout> builder_;
    PerThread<Scratch> scratch_;
};

}  // namespace arboretum
