#include "base/exact_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/exact_sum.hpp"
#include "base/long_sums.hpp"
#include "base/parallel.hpp"
#include "base/whole_sums.hpp"

namespace arboretum {

namespace {

constexpr int64_t block = 16384;

}  // namespace

void sum_exactly(const Terms& terms, int threads, int64_t* out) {
    std::vector<ExactSum> parts(std::clamp(threads, 1, max_threads));
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

void sum_groups(const Terms& terms, const uint32_t* group, int64_t n_groups, double* out) {
    double largest = 0;
    for (int64_t i = 0; i < terms.n; ++i) raise(largest, std::abs(terms[i]));
    if (!std::isfinite(largest)) {
        std::fill_n(out, n_groups, std::numeric_limits<double>::quiet_NaN());
        return;
    }
    const int power = LongSum::power_of(largest, terms.n);
    std::vector<LongSum> sums(n_groups);
    for (int64_t i = 0; i < terms.n; ++i) sums[group[i]].add(terms[i], power);
    std::transform(sums.begin(), sums.end(), out, [=](const LongSum& sum) { return sum.value(power); });
}

}  // namespace arboretum
