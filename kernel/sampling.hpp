// Which rows a tree sees: chosen by a hash of (key, row), so that the choice is the same for any number of threads.
#pragma once

#include "parallel.hpp"
#include "rng.hpp"
#include "types.hpp"

namespace arboretum {

// Rows whose draw falls below `share`, rising. Never empty: if no draw does, the row with the smallest one.
inline std::vector<Row> subsample_rows(int64_t n_rows, double share, uint64_t key, int threads) {
    constexpr int64_t block = 65536;
    uint64_t limit = static_cast<uint64_t>(share * 0x1p63) * 2;
    std::vector<std::vector<Row>> chosen((n_rows + block - 1) / block);
    parallel_blocks(n_rows, block, threads, [&](int64_t begin, int64_t end, int) {
        std::vector<Row>& rows = chosen[begin / block];
        rows.resize(end - begin);
        size_t n = 0;
        for (int64_t row = begin; row < end; ++row) {
            rows[n] = static_cast<Row>(row);
            n += draw(key, row) < limit;
        }
        rows.resize(n);
    });
    std::vector<Row> all;
    for (const std::vector<Row>& rows : chosen) all.insert(all.end(), rows.begin(), rows.end());
    if (all.empty() && n_rows > 0) {
        Row best = 0;
        for (int64_t row = 1; row < n_rows; ++row)
            if (draw(key, row) < draw(key, best)) best = static_cast<Row>(row);
        all.push_back(best);
    }
    return all;
}

}  // namespace arboretum
