#include "grow/impurity/row_groups.hpp"

#include <algorithm>
#include <bit>

namespace arboretum {

namespace {

constexpr int64_t insertion_keys = 24, radix_keys = 96;

void radix_sort(std::vector<uint64_t>& keys, std::vector<uint64_t>& other) {
    constexpr int most_digit = 9;
    uint64_t any = 0, all = ~uint64_t{0};
    for (uint64_t key : keys) any |= key, all &= key;
    const int bits = std::bit_width((any ^ all) >> 32), passes = (bits + most_digit - 1) / most_digit;
    const int digit = passes > 0 ? (bits + passes - 1) / passes : 0;
    const uint64_t mask = (uint64_t{1} << digit) - 1;
    other.resize(keys.size());
    for (int pass = 0; pass < passes; ++pass) {
        const int shift = 32 + pass * digit;
        uint32_t count[1 << most_digit] = {};
        for (uint64_t key : keys) ++count[key >> shift & mask];
        uint32_t start = 0;
        for (uint64_t d = 0; d <= mask; ++d) start += std::exchange(count[d], start);
        for (uint64_t key : keys) other[count[key >> shift & mask]++] = key;
        keys.swap(other);
    }
}

}  // namespace

void sort_groups(GroupOrder& order, std::span<const uint64_t> ties) {
    if (ties.empty()) return std::sort(order.begin(), order.end());
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : ties[a.second] < ties[b.second];
    });
}

void sort_keys(std::vector<uint64_t>& keys, std::vector<uint64_t>& other) {
    const int64_t n = static_cast<int64_t>(keys.size());
    if (n > radix_keys) return radix_sort(keys, other);
    if (n > insertion_keys) return std::sort(keys.begin(), keys.end());
    for (int64_t i = 1; i < n; ++i) {
        const uint64_t key = keys[i];
        int64_t j = i;
        for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

}  // namespace arboretum
