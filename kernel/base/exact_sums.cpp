#include "base/exact_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/exact_sum.hpp"
#include "base/long_sums.hpp"
#include "base/parallel.hpp"
#include "base/per_thread.hpp"
#include "base/whole_sums.hpp"

namespace arboretum {

namespace {

constexpr int64_t block = 16384;

std::vector<LongSum> long_sums(const Terms& terms, const uint32_t* group, int64_t n_groups, int power) {
    std::vector<LongSum> sums(n_groups);
    for (int64_t i = 0; i < terms.n; ++i) sums[group[i]].add(terms[i], power);
    return sums;
}

}  // namespace

void sum_exactly(const Terms& terms, int threads, int64_t* out) {
    PerThread<ExactSum> parts(std::clamp(threads, 1, max_threads));
    parallel_blocks(terms.n, block, threads, [&](int64_t begin, int64_t end, int worker) {
        ExactSum& own = parts[worker];
        for (int64_t i = begin; i < end; ++i) own.add(terms[i]);
    });
    ExactSum total;
    for (const ExactSum& part : parts) total.add(part);
    total.carry();
    std::copy_n(total.words(), ExactSum::n_words, out);
}

double round_sum(const int64_t* words) { return ExactSum(words).rounded(); }

double largest_size(const Terms& terms) {
    double largest = 0;
    for (int64_t i = 0; i < terms.n; ++i) raise(largest, std::abs(terms[i]));
    return largest;
}

void sum_groups(const Terms& terms, const uint32_t* group, int64_t n_groups, double* out) {
    const double largest = largest_size(terms);
    if (!std::isfinite(largest)) {
        std::fill_n(out, n_groups, std::numeric_limits<double>::quiet_NaN());
        return;
    }
    const int power = LongSum::power_of(largest, terms.n);
    const std::vector<LongSum> sums = long_sums(terms, group, n_groups, power);
    std::transform(sums.begin(), sums.end(), out, [=](const LongSum& sum) { return sum.value(power); });
}

void sum_group_words(const Terms& terms, const uint32_t* group, int64_t n_groups, int power, int64_t* out) {
    for (const LongSum& sum : long_sums(terms, group, n_groups, power)) {
        sum.copy_words(out);
        out += LongSum::n_words;
    }
}

void round_group_words(const int64_t* words, int64_t n_groups, int power, double* out) {
    for (int64_t i = 0; i < n_groups; ++i) out[i] = LongSum(words + i * LongSum::n_words).value(power);
}

}  // namespace arboretum
