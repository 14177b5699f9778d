// Sorting a node's rows to its children, stably, from one buffer to the other.
//
//   source   [ a b c d e f g h i j k l ]      flags: 1 = left
//   flags      0 0 1 0 1 1 0 0 0 0 0 0        counted per chunk of rows → where each chunk's rows start
//   target   [ c e f | a b d g h i j k l ]    left child, then right child, each in the old order
//
// The parent's rows stay untouched in the source buffer, so a split may be prepared and never used.
#pragma once

#include "base/part_items.hpp"
#include "grow/gradient/histogram.hpp"
#include "grow/left_table.hpp"

namespace arboretum {

constexpr int64_t partition_chunk = 8192;

template <class Layout, class C>
int64_t flag_rows(const C* column, const uint8_t* left, const Entry<Layout>* entries, int64_t n, uint8_t* flags) {
    int64_t n_left = 0;
    for (int64_t i = 0; i < n; ++i) {
        uint8_t flag = left[column[entries[i].row]];
        flags[i] = flag;
        n_left += flag;
    }
    return n_left;
}

template <class Layout>
void move_rows(const Entry<Layout>* source, const uint8_t* flags, int64_t n, Entry<Layout>* target, int64_t left,
               int64_t right) {
    const PartedItems parted = part_items(source, sizeof *source, flags, n, target + left, target + right);
    left += parted.n_left;
    right += parted.n - parted.n_left;
    for (int64_t i = parted.n; i < n; ++i) {
        int64_t go_left = flags[i];
        // Arithmetic, not a choice: compilers turn a choice into a branch that is mispredicted half the time.
        target[right + ((left - right) & -go_left)] = source[i];
        left += go_left;
        right += 1 - go_left;
    }
}

// Returns the number of rows that went left. flags: scratch for n bytes.
template <class Layout>
int64_t partition(const BinnedData& data, int32_t feature, const std::vector<uint8_t>& left,
                  const Entry<Layout>* source, Entry<Layout>* target, uint8_t* flags, int64_t n, int threads) {
    int64_t n_chunks = (n + partition_chunk - 1) / partition_chunk;
    std::vector<int64_t> left_start(n_chunks + 1, 0);
    std::vector<uint8_t> of_bundle;
    if (data.feature(feature).bundle >= 0) of_bundle = bundle_left_table(data, feature, left);
    const uint8_t* stored_left = of_bundle.empty() ? left.data() : of_bundle.data();
    auto flag = [&](int64_t begin, int64_t end) {
        return data.with_column(data.stored_in(feature), [&](const auto* column) {
            return flag_rows<Layout>(column, stored_left, source + begin, end - begin, flags + begin);
        });
    };
    parallel_blocks(n, partition_chunk, threads, [&](int64_t begin, int64_t end, int) {
        left_start[begin / partition_chunk + 1] = flag(begin, end);
    });
    data.forget_column(data.stored_in(feature), 0, data.n_rows());
    for (int64_t c = 0; c < n_chunks; ++c) left_start[c + 1] += left_start[c];
    int64_t n_left = left_start[n_chunks];
    parallel_blocks(n, partition_chunk, threads, [&](int64_t begin, int64_t end, int) {
        int64_t lefts = left_start[begin / partition_chunk];
        move_rows<Layout>(source + begin, flags + begin, end - begin, target, lefts, n_left + begin - lefts);
    });
    return n_left;
}

}  // namespace arboretum
