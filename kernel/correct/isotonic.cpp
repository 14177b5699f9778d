#include "correct/isotonic.hpp"

#include <vector>

namespace arboretum {

void pool_adjacent_violators(const double* values, const double* weight, int64_t n, double* out) {
    struct Block {
        double mean, weight;
        int64_t end;
    };
    std::vector<Block> blocks;
    for (int64_t i = 0; i < n; ++i) {
        Block last{values[i], weight[i], i + 1};
        while (!blocks.empty() && blocks.back().mean >= last.mean) {
            const Block& before = blocks.back();
            double total = before.weight + last.weight;
            last = {(before.mean * before.weight + last.mean * last.weight) / total, total, i + 1};
            blocks.pop_back();
        }
        blocks.push_back(last);
    }
    int64_t i = 0;
    for (const Block& block : blocks)
        while (i < block.end) out[i++] = block.mean;
}

}  // namespace arboretum
