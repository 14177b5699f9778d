#include "base/part_items.hpp"

#include <bit>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace arboretum {

#if defined(__x86_64__) && defined(__GNUC__)

namespace {

// Stores exactly the words of the mask, side by side: memory behind them may belong to another thread.
[[gnu::target("avx512f"), gnu::always_inline]] inline void store_masked(__m512i words, unsigned mask, uint64_t* to) {
    const unsigned n = static_cast<unsigned>(std::popcount(mask));
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>((1u << n) - 1), _mm512_maskz_compress_epi64(mask, words));
}

template <int words>  // of an item
[[gnu::target("avx512f,bmi2,popcnt")]] PartedItems part_groups(const uint64_t* items, const uint8_t* flags, int64_t n,
                                                               uint64_t* left, uint64_t* right) {
    constexpr int group = 8, per_vector = 8 / words;
    PartedItems done;
    for (; done.n + group <= n; done.n += group) {
        uint64_t bytes;
        std::memcpy(&bytes, flags + done.n, group);
        const unsigned mask = static_cast<unsigned>(_pext_u64(bytes, 0x0101010101010101ull));
        for (int first = 0; first < group; first += per_vector) {
            unsigned own = mask >> first & ((1u << per_vector) - 1);
            if constexpr (words == 2) own = _pdep_u32(own, 0x55) * 3;  // each bit twice
            const __m512i vector = _mm512_loadu_si512(items + (done.n + first) * words);
            const int lefts = std::popcount(own);
            store_masked(vector, own, left);
            store_masked(vector, ~own & 0xff, right);
            left += lefts;
            right += 8 - lefts;
        }
        done.n_left += std::popcount(mask);
    }
    return done;
}

}  // namespace

PartedItems part_items(const void* items, size_t item_bytes, const uint8_t* flags, int64_t n, void* left, void* right) {
    static const bool able = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("bmi2");
    const auto* words = static_cast<const uint64_t*>(items);
    auto *to_left = static_cast<uint64_t*>(left), *to_right = static_cast<uint64_t*>(right);
    if (able && item_bytes == 8) return part_groups<1>(words, flags, n, to_left, to_right);
    if (able && item_bytes == 16) return part_groups<2>(words, flags, n, to_left, to_right);
    return {};
}

#else

PartedItems part_items(const void*, size_t, const uint8_t*, int64_t, void*, void*) { return {}; }

#endif

}  // namespace arboretum
