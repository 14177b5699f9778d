// The rows of a tree that lie in parts, as growth sees them (tree_rows.hpp): a fetch is one question to all parts, and
// partitions, counts and histograms of nodes elsewhere are read from its answer. Rows that are sent come into a store,
// where they and their descendants are rows like any others.
//
//   part nodes    0 ─┬─ 1 ─┬─ 3          known_[node]: where the last answer speaks of it
//                    │     └─ 4 sent     store: rows of 4, in the entries of TreeRowsAs
//                    └─ 2
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "grow/gradient/orders.hpp"
#include "grow/gradient/row_store.hpp"
#include "grow/gradient/tree_rows_as.hpp"

namespace arboretum {

// Gives an order to every part; returns what they answer together.
using AskParts = std::function<Answer(const Bytes& order)>;

template <class Layout>
class PartedRows final : public TreeRowsAs<Layout> {
  public:
    using typename TreeRows::Bins;
    using Base = TreeRowsAs<Layout>;

    PartedRows(RowStore& store, const LaneScale& scale, const FeatureSelection& selection, int threads,
               Workspace& space, const AskParts& ask)
        : Base(store.data(), scale, selection, threads, space),
          store_(store),
          selection_(selection),
          space_(space),
          ask_(ask),
          histogram_words_(histogram_words(store.data(), selection, Base::sum_bytes())),
          row_bytes_(sent_row_bytes(store.data(), selection, Base::stat_bytes())) {}

    // Opens the tree in all parts; returns the sum of all rows.
    WideSum open(const OpenOrder& order) {
        ask(write_open_order(order), 2 + histogram_words_);
        known_[0].histogram = 2;
        return {static_cast<int64_t>(answer_.sums[0]), static_cast<int64_t>(answer_.sums[1])};
    }

    void fetch(std::span<const RowRequest> requests) override {
        int64_t words = 0;
        for (const RowRequest& request : requests) words += answer_words(request, store_.data(), histogram_words_);
        ask(write_batch_order(requests), words);
        words = 0;
        for (const RowRequest& request : requests) {
            note(request, words);
            words += answer_words(request, store_.data(), histogram_words_);
        }
        take_rows(requests);
    }

    std::array<RowRange, 2> partition(int32_t feature, const std::vector<uint8_t>& left, const RowRange& rows,
                                      int threads) override {
        if (!rows.afar()) return Base::partition(feature, left, rows, threads);
        const Known& known = known_.at(rows.part_node);
        const auto n_left = static_cast<int64_t>(answer_.sums[known.n_left]);
        if (n_left < 0 || n_left > rows.size()) throw std::invalid_argument("parts count more rows than there are");
        return {RowRange{RowRange::elsewhere, 0, n_left, known.children},
                {RowRange::elsewhere, 0, rows.size() - n_left, known.children + 1}};
    }

    void build(const RowRange& rows, Bins* bins, int32_t n_blocks, int threads) override {
        if (!rows.afar()) return Base::build(rows, bins, n_blocks, threads);
        copy_histogram(store_.data(), selection_, Base::sum_bytes(),
                       answer_.sums.data() + known_.at(rows.part_node).histogram, bins);
    }

    bool counted(const RowRange& rows, int32_t feature) const override {
        return !rows.afar() || counts_.contains({rows.part_node, feature});
    }

    void count(const RowRange& rows, int32_t feature, Code first, int64_t* counts) const override {
        if (!rows.afar()) return Base::count(rows, feature, first, counts);
        const uint64_t* all = counts_of(rows, feature);
        for (Code code = first; code <= n_bins(feature); ++code)
            counts[code - first] += static_cast<int64_t>(all[code]);
    }

    bool both_sides_have(const RowRange& rows, int32_t feature, Code threshold, bool missing_left,
                         int64_t least) const override {
        if (!rows.afar()) return Base::both_sides_have(rows, feature, threshold, missing_left, least);
        const uint64_t* all = counts_of(rows, feature);
        int64_t left = missing_left ? static_cast<int64_t>(all[n_bins(feature)]) : 0;
        for (Code code = 0; code <= threshold; ++code) left += static_cast<int64_t>(all[code]);
        return left >= least && rows.size() - left >= least;
    }

    void mark_right(const RowRange& rows, int32_t feature, std::vector<uint8_t>& seen) const override {
        if (!rows.afar()) return Base::mark_right(rows, feature, seen);
        const auto known = known_.find(rows.part_node);
        if (known == known_.end() || known->second.right_rows < 0) return;  // missing values went left
        const Code first = first_counted(store_.data().feature(feature));
        for (Code code = first; code <= n_bins(feature); ++code)
            if (answer_.sums[known->second.right_rows + code - first] > 0) seen[code] = 1;
    }

    double share_of_histogram(const RowRange& rows) const override {
        return in_histograms(static_cast<double>(rows.size() * row_bytes_));
    }

    double histograms_fetched() const override { return in_histograms(fetched_); }

  private:
    // Places in the sums of the last answer.
    struct Known {
        int32_t children = -1;
        int64_t n_left = -1, right_rows = -1, histogram = -1;
    };

    double in_histograms(double bytes) const { return bytes / (8 * static_cast<double>(histogram_words_)); }

    Code n_bins(int32_t feature) const { return store_.data().feature(feature).n_bins; }

    const uint64_t* counts_of(const RowRange& rows, int32_t feature) const {
        return answer_.sums.data() + counts_.at({rows.part_node, feature});
    }

    void ask(const Bytes& order, int64_t words) {
        known_.clear();
        counts_.clear();
        answer_ = ask_(order);
        if (static_cast<int64_t>(answer_.sums.size()) != words)
            throw std::invalid_argument("parts answer another question than the one that was asked");
        fetched_ += 8.0 * static_cast<double>(words) + static_cast<double>(answer_.rows.size());
    }

    void note(const RowRequest& request, int64_t place) {
        const int32_t node = request.rows->part_node;
        if (request.kind == RowRequest::Kind::count) counts_[{node, request.feature}] = place;
        if (request.kind == RowRequest::Kind::build) known_[node].histogram = place;
        if (request.kind != RowRequest::Kind::partition) return;
        const int32_t children = std::exchange(n_part_nodes_, n_part_nodes_ + 2);
        known_[node].children = children;
        known_[node].n_left = place++;
        if (request.count_right) {
            known_[children + 1].right_rows = place;
            const FeatureCodes& info = store_.data().feature(request.feature);
            place += static_cast<int64_t>(info.n_bins - first_counted(info)) + 1;
        }
        if (request.summed != RowRequest::none) known_[children + request.summed].histogram = place;
    }

    // ---- rows that are sent --------------------------------------------------------------------------------------

    // Every part sends some of the rows of each node.
    void take_rows(std::span<const RowRequest> requests) {
        std::vector<int64_t> next(requests.size(), 0);
        for (size_t i = 0; i < requests.size(); ++i) {
            if (requests[i].kind != RowRequest::Kind::send) continue;
            RowRange& rows = *requests[i].rows;
            const int64_t first = store_.add(rows.size());
            rows = {0, first, first + rows.size(), rows.part_node};
            next[i] = first;
        }
        reserve_entries();
        ByteReader in(answer_.rows);
        while (!in.done()) {
            SentHeader header;
            header.request = in.get<uint32_t>();
            header.n_rows = in.get<uint64_t>();
            const bool sent =
                header.request < requests.size() && requests[header.request].kind == RowRequest::Kind::send &&
                header.n_rows <= static_cast<uint64_t>(requests[header.request].rows->end - next[header.request]);
            if (!sent) throw std::invalid_argument("parts send rows that were not asked for");
            take_some(in, next[header.request], static_cast<int64_t>(header.n_rows));
            next[header.request] += static_cast<int64_t>(header.n_rows);
        }
        for (size_t i = 0; i < requests.size(); ++i)
            if (requests[i].kind == RowRequest::Kind::send && next[i] != requests[i].rows->end)
                throw std::invalid_argument("parts send fewer rows than were asked for");
    }

    void reserve_entries() {
        if (store_.n_rows() <= n_entries_) return;
        const int64_t capacity = store_.data().n_rows();
        for (Buffer& buffer : space_.entries) buffer.extend<Entry<Layout>>(capacity, n_entries_);
        space_.flags.get<uint8_t>(capacity);
        n_entries_ = capacity;
    }

    void take_some(ByteReader& in, int64_t first, int64_t n) {
        BinnedData& data = store_.data();
        Entry<Layout>* entries = Base::entries({0, first, first + n});
        const std::byte* stats = in.bytes(n * Base::stat_bytes()).data();
        for (int64_t i = 0; i < n; ++i) {
            std::memcpy(&entries[i].stat, stats + i * Base::stat_bytes(), sizeof entries[i].stat);
            entries[i].row = static_cast<Row>(first + i);
        }
        std::vector<int> codes(n);
        for (int32_t f = 0; f < data.n_features(); ++f) {
            if (!selection_.wanted[f]) continue;
            data.with_column(f, [&](const auto* column) {
                auto code = *column;
                const std::byte* sent = in.bytes(n * sizeof code).data();
                for (int64_t i = 0; i < n; ++i) {
                    std::memcpy(&code, sent + i * sizeof code, sizeof code);
                    if (code > n_bins(f)) throw std::invalid_argument("parts send codes that a feature does not have");
                    codes[i] = static_cast<int>(code);
                }
            });
            data.put(f, first, static_cast<int>(n), codes.data());
        }
    }

    RowStore& store_;
    const FeatureSelection& selection_;
    Workspace& space_;
    const AskParts& ask_;
    int64_t histogram_words_, row_bytes_;
    Answer answer_;  // the last one
    std::unordered_map<int32_t, Known> known_;
    std::map<std::pair<int32_t, int32_t>, int64_t> counts_;  // places of rows by code, by node and feature
    int32_t n_part_nodes_ = 1;
    int64_t n_entries_ = 0;  // room
    double fetched_ = 0;     // bytes
};

}  // namespace arboretum
