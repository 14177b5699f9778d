#include "correct/conformal.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/parallel.hpp"

namespace arboretum {

namespace {

// Doubles in their order as unsigned integers, so that a bisection ends after 64 steps.
uint64_t rank_of(double value) {
    auto bits = std::bit_cast<uint64_t>(value);
    return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
}

double value_of(uint64_t rank) { return std::bit_cast<double>(rank >> 63 ? rank & ~(uint64_t{1} << 63) : ~rank); }

// Bisects over v; in each list the places still in question, first[k] : last[k], shrink along with it.
class EndSearch {
  public:
    explicit EndSearch(const ScoreLists& lists)
        : lists_(lists), first_(lists.n_lists), last_(lists.n_lists), found_(lists.n_lists) {}

    // Scales are positive; null stands for 1.
    double find(const double* shift, const double* scale, double needed) {
        auto end_at = [&](int64_t k, double score) {
            return scale != nullptr ? shift[k] + scale[k] * score : shift[k] + score;
        };
        uint64_t low = ~uint64_t{0}, high = 0;
        for (int64_t k = 0; k < lists_.n_lists; ++k) {
            first_[k] = lists_.start[k];
            last_[k] = lists_.start[k + 1];
            if (first_[k] == last_[k]) continue;
            low = std::min(low, rank_of(end_at(k, lists_.scores[first_[k]])));
            high = std::max(high, rank_of(end_at(k, lists_.scores[last_[k] - 1])));
        }
        while (low < high) {
            uint64_t middle = low + (high - low) / 2;
            if (mass_up_to(end_at, value_of(middle)) >= needed) {
                high = middle;
                last_.swap(found_);
            } else {
                low = middle + 1;
                first_.swap(found_);
            }
        }
        return value_of(high) + 0.0;  // never -0
    }

  private:
    template <class EndAt>
    double mass_up_to(const EndAt& end_at, double value) {
        double total = 0;
        for (int64_t k = 0; k < lists_.n_lists; ++k) {
            const double* end = std::partition_point(lists_.scores + first_[k], lists_.scores + last_[k],
                                                     [&](double score) { return end_at(k, score) <= value; });
            found_[k] = end - lists_.scores;
            if (found_[k] > lists_.start[k]) total += lists_.mass[found_[k] - 1];
        }
        return total;
    }

    const ScoreLists& lists_;
    std::vector<int64_t> first_, last_, found_;
};

}  // namespace

void interval_ends(const double* shift, const double* scale, int64_t n_rows, const ScoreLists& lists, double needed,
                   int threads, double* out) {
    constexpr int64_t block = 256;
    parallel_blocks(n_rows, block, threads, [&](int64_t begin, int64_t end, int) {
        EndSearch search(lists);
        for (int64_t row = begin; row < end; ++row) {
            int64_t at = row * lists.n_lists;
            out[row] = search.find(shift + at, scale != nullptr ? scale + at : nullptr, needed);
        }
    });
}

}  // namespace arboretum
