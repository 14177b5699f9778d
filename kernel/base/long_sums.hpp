// Sums of terms of very different sizes as whole numbers of 126 bits: those down to 2^−53 of the largest are exact, so
// that a few huge ones do not cost the others their digits. Slower than whole_sums.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace arboretum {

class LongSum {
  public:
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
