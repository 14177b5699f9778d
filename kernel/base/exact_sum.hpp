// A sum of doubles that is exact until it is rounded once: the same for any order of its terms, and for any parts that
// are summed apart.
//
//   a term    ± m · 2^e with m < 2^53; moved to the boundary of a digit it touches three of them
//   digits    Σ digit[i] · 2^(32 i − 1074), each an int64: they need not be carried after every term
//   parts     add up digit by digit, on one machine or on many
//
// Neal (2015), "Fast exact summation using small and large superaccumulators".
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace arboretum {

class ExactSum {
  public:
    // The largest double ends in digit 65; two more take the carries of 2^62 terms.
    static constexpr int n_digits = 68;
    // After the digits: how many terms were not a number, +infinity and −infinity.
    static constexpr int n_words = n_digits + 3;

    ExactSum() = default;
    explicit ExactSum(const int64_t* words) { std::copy_n(words, n_words, words_); }

    void add(double term) {
        const auto bits = std::bit_cast<uint64_t>(term);
        const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
        if (exponent == 0x7ff) return add_special(term);
        const uint64_t mantissa = (bits & 0xfffffffffffff) | static_cast<uint64_t>(exponent > 0) << 52;
        const int place = exponent - (exponent > 0 ? 1 : 0), shift = place % 32;
        const uint64_t low = mantissa << shift, high = mantissa >> 32 >> (32 - shift);
        // −1 and 0: (d ^ sign) − sign is ±d.
        const int64_t sign = -static_cast<int64_t>(bits >> 63);
        int64_t* digit = words_ + place / 32;
        digit[0] += (static_cast<int64_t>(low & 0xffffffff) ^ sign) - sign;
        digit[1] += (static_cast<int64_t>(low >> 32) ^ sign) - sign;
        digit[2] += (static_cast<int64_t>(high) ^ sign) - sign;
        if (++n_uncarried_ == most_uncarried) carry();
    }

    void add(const ExactSum& part) {
        carry();
        for (int i = 0; i < n_words; ++i) words_[i] += part.words_[i];
        n_uncarried_ += part.n_uncarried_ + 1;
        if (n_uncarried_ >= most_uncarried) carry();
    }

    // Digits but the last in [0, 2^32); the last has the sign.
    void carry() {
        for (int i = 0; i + 1 < n_digits; ++i) {
            words_[i + 1] += words_[i] >> 32;
            words_[i] &= 0xffffffff;
        }
        n_uncarried_ = 0;
    }

    // The double nearest to the sum, ties to even.
    double rounded() const {
        if (const double special = special_sum(); special != 0) return special;
        ExactSum sum = *this;
        sum.carry();
        const bool negative = sum.words_[n_digits - 1] < 0;
        if (negative) {
            for (int i = 0; i < n_digits; ++i) sum.words_[i] = -sum.words_[i];
            sum.carry();
        }
        const double size = sum.rounded_size();
        return negative ? -size : size;
    }

    const int64_t* words() const { return words_; }

  private:
    static constexpr int64_t most_uncarried = int64_t{1} << 30;

    void add_special(double term) { ++words_[n_digits + (std::isnan(term) ? 0 : term > 0 ? 1 : 2)]; }

    // What terms that are not finite sum up to; 0 if there are none.
    double special_sum() const {
        const int64_t* count = words_ + n_digits;
        if (count[0] > 0 || (count[1] > 0 && count[2] > 0)) return std::numeric_limits<double>::quiet_NaN();
        const double infinite = std::numeric_limits<double>::infinity();
        return count[1] > 0 ? infinite : count[2] > 0 ? -infinite : 0.0;
    }

    // Of carried digits that are not negative: their first 64 bits, the last of which stands for all bits after it.
    double rounded_size() const {
        int top = n_digits - 1;
        while (top > 0 && words_[top] == 0) --top;
        auto digit = [&](int i) { return i >= 0 ? static_cast<uint64_t>(words_[i]) : 0; };
        if (digit(top) == 0) return 0;
        const int empty = std::countl_zero(digit(top)) - 32;
        const uint64_t next = digit(top - 2) << empty;
        uint64_t first = (digit(top) << 32 | digit(top - 1)) << empty | next >> 32;
        bool rest = (next & 0xffffffff) != 0;
        for (int i = top - 3; i >= 0 && !rest; --i) rest = words_[i] != 0;
        return std::ldexp(static_cast<double>(first | static_cast<uint64_t>(rest)), 32 * (top - 1) - empty - 1074);
    }

    int64_t words_[n_words] = {};
    int64_t n_uncarried_ = 0;
};

}  // namespace arboretum
