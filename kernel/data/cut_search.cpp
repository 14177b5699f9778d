#include "data/cut_search.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <type_traits>

#include "base/simd.hpp"

namespace arboretum {

namespace {

template <class T>
[[gnu::always_inline]] inline void count_cuts(const T* values, int n, const T* cuts, int part, int n_parts,
                                              int* codes) {
    for (int i = 0; i < n; ++i) codes[i] = 0;
    for (int k = 1; k < n_parts; ++k) {
        const T cut = cuts[k * part - 1];
        for (int i = 0; i < n; ++i) codes[i] += cut < values[i];
    }
}

ARBORETUM_CLONES void count_cuts32(const float* values, int n, const float* cuts, int part, int n_parts, int* codes) {
    count_cuts(values, n, cuts, part, n_parts, codes);
}
ARBORETUM_CLONES void count_cuts64(const double* values, int n, const double* cuts, int part, int n_parts, int* codes) {
    count_cuts(values, n, cuts, part, n_parts, codes);
}

}  // namespace

template <class T>
std::vector<T> padded_cuts(const std::vector<double>& cuts) {
    std::vector<T> padded(std::bit_ceil(cuts.size() + 1), std::numeric_limits<T>::infinity());
    std::transform(cuts.begin(), cuts.end(), padded.begin(), round_down<T>);
    return padded;
}

template <class T>
void search_cuts(const T* values, int n, const std::vector<T>& cuts, int* codes) {
    const int size = static_cast<int>(cuts.size()), part = std::max(size / 16, 1);
    if constexpr (std::is_same_v<T, float>)
        count_cuts32(values, n, cuts.data(), part, size / part, codes);
    else
        count_cuts64(values, n, cuts.data(), part, size / part, codes);
    for (int i = 0; i < n; ++i) {
        size_t code = static_cast<size_t>(codes[i]) * part;
        // A product, not a choice: compilers turn a choice into a branch that is mispredicted half the time.
        for (size_t step = part / 2; step > 0; step /= 2) code += step * size_t{cuts[code + step - 1] < values[i]};
        codes[i] = static_cast<int>(code);
    }
}

template std::vector<float> padded_cuts(const std::vector<double>& cuts);
template std::vector<double> padded_cuts(const std::vector<double>& cuts);
template void search_cuts(const float* values, int n, const std::vector<float>& cuts, int* codes);
template void search_cuts(const double* values, int n, const std::vector<double>& cuts, int* codes);

}  // namespace arboretum
