// Growing one tree from rows that lie in several parts, each in another process: what they say to one another.
//
//   one that decides ── order ──►  every part  ──►  Answer { sums   words, added over the parts modulo 2^64
//   (grow_in_parts.hpp)            (part_grower.hpp)         rows   bytes, of all parts one after the other, in any order }
//
//   order     says                                     sums                           rows
//   measure   units                                    –                              PartMeasure
//   open      scales of the lanes and of leaf sums     total of the part; histogram   –
//                                                      of the root
//   batch     requests about nodes (tree_rows.hpp)     of each request, see below     of each `send`: a SentHeader, then
//                                                                                     statistics, then codes by feature
//   finish    the grown tree; which of its nodes       2 per node: leaf sums          –
//             the rows of known nodes reach
//   done      the leaf sums of all parts               –                              –
//
//   partition │ rows of the left child │ rows of the right child by code, if wanted │ histogram of a child, if wanted │
//   count     │ rows by code, the missing code last │
//   build     │ histogram │
//
// A histogram is the sums of all codes of the features that the tree looks at, feature by feature; a sum is one word or
// two (lanes.hpp), and words that are added modulo 2^64 are sums of all rows. Parts number nodes: the root is 0, and each
// partition makes two more, left and right, in the order of the requests. No node is partitioned twice.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "grow/gradient/feature_selection.hpp"
#include "grow/gradient/lanes.hpp"
#include "grow/gradient/tree_rows.hpp"
#include "grow/grown_tree.hpp"

namespace arboretum {

struct Answer {
    std::vector<uint64_t> sums;
    Bytes rows;
};

enum class OrderKind : uint8_t { measure, open, batch, finish, done };

struct OpenOrder {
    LaneScale scale, wide;
};

// A node that parts know, and the node of the tree that its rows reach.
struct KnownNode {
    int32_t part_node;
    uint32_t tree_node;
};

struct FinishOrder {
    GrownTree tree;
    std::vector<KnownNode> known;
};

// Lanes of the rows of a part, and what shows that all parts grow the same tree.
struct PartMeasure {
    uint64_t seed;
    int64_t n_bins, n_all_rows;
    uint8_t real_bytes;  // of a gradient
    LaneMeasure lanes;
    MedianValues median;
};

struct SentHeader {
    uint32_t request;
    uint64_t n_rows;
};

Bytes write_measure_order(const LaneUnits& units);
Bytes write_open_order(const OpenOrder& order);
Bytes write_batch_order(std::span<const RowRequest> requests);
Bytes write_finish_order(const FinishOrder& order);
Bytes write_done_order(const std::vector<uint64_t>& sums);
void write_measure(const PartMeasure& measure, ByteWriter& out);

// Each reads what follows the kind, to the end. All throw std::invalid_argument for what nobody would write; whether the
// named nodes exist is for the part to check.
OrderKind read_kind(ByteReader& in);
LaneUnits read_measure_order(ByteReader& in);
OpenOrder read_open_order(ByteReader& in);
struct PartRequest {
    RowRequest request;  // `rows` is null
    int32_t part_node;
};
std::vector<PartRequest> read_batch_order(ByteReader& in, const BinnedData& data);
FinishOrder read_finish_order(ByteReader& in, const BinnedData& data);
std::vector<uint64_t> read_done_order(ByteReader& in);
PartMeasure read_measure(ByteReader& in);

// ---- sizes of answers ----------------------------------------------------------------------------------------------

// The first code whose rows are counted in the right child of a partition: of numbers, only missing ones matter.
inline Code first_counted(const FeatureCodes& info) { return info.categorical ? 0 : info.n_bins; }

// Words of a histogram of the features that a tree looks at.
int64_t histogram_words(const BinnedData& data, const FeatureSelection& selection, int64_t sum_bytes);

int64_t answer_words(const RowRequest& request, const BinnedData& data, int64_t histogram);

// Bytes of a row that is sent.
int64_t sent_row_bytes(const BinnedData& data, const FeatureSelection& selection, int64_t stat_bytes);

// Sums of the features that a tree looks at, between a histogram and words.
void copy_histogram(const BinnedData& data, const FeatureSelection& selection, int64_t sum_bytes,
                    const TreeRows::Bins* bins, uint64_t* words);
void copy_histogram(const BinnedData& data, const FeatureSelection& selection, int64_t sum_bytes, const uint64_t* words,
                    TreeRows::Bins* bins);

}  // namespace arboretum
