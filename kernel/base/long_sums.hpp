// Sums of terms of very different sizes as whole numbers of 126 bits: those down to 2^−53 of the largest are exact, so
// that a few huge ones do not cost the others their digits. Slower than whole_sums.hpp.
//
//   words    Σ word[i] · 2^(32 i): those of parts, in other processes too, add up word by word, without carries
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace arboretum {

class LongSum {
  public:
    static constexpr int n_words = 4;

    LongSum() = default;
    explicit LongSum(const int64_t* words) {
        for (int i = n_words - 1; i >= 0; --i) sum_ = sum_ * (__int128{1} << 32) + words[i];
    }

    // All but the last in [0, 2^32); the last has the sign.
    void copy_words(int64_t* out) const {
        for (int i = 0; i + 1 < n_words; ++i) out[i] = static_cast<int64_t>(sum_ >> (32 * i) & 0xffffffff);
        out[n_words - 1] = static_cast<int64_t>(sum_ >> (32 * (n_words - 1)));
    }

    // term · 2^power, rounded.
    void add(double term, int power) { sum_ += whole(term, power); }

    double value(int power) const { return std::ldexp(static_cast<double>(sum_), -power); }

    // The power that suits n terms of up to this size.
    static int power_of(double largest, int64_t n_terms) {
        if (!(largest > 0) || !std::isfinite(largest)) return 0;
        return 125 - static_cast<int>(std::bit_width(static_cast<uint64_t>(n_terms))) - std::ilogb(largest);
    }

  private:
    static __int128 whole(double term, int power) {
        const auto bits = std::bit_cast<uint64_t>(term);
        const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
        const auto mantissa =
            static_cast<int64_t>((bits & 0xfffffffffffff) | static_cast<uint64_t>(exponent > 0) << 52);
        const int shift = std::max(exponent, 1) - 1075 + power;
        __int128 size = 0;
        if (shift >= 0)
            size = static_cast<__int128>(mantissa) << std::min(shift, 74);
        else if (shift > -54)
            size = (mantissa + (int64_t{1} << (-shift - 1))) >> -shift;
        return term < 0 ? -size : size;
    }

    __int128 sum_ = 0;
};

}  // namespace arboretum
