#include "data/raw_column.hpp"

#include <cstdlib>
#include <utility>

#include "base/simd.hpp"

namespace arboretum {

namespace {

// Without an early end, so that the loop is vectorised.
template <class T>
[[gnu::always_inline]] inline bool is_nan_among(const T* values, int64_t n) {
    bool found = false;
    for (int64_t i = 0; i < n; ++i) found |= values[i] != values[i];
    return found;
}

ARBORETUM_CLONES bool is_nan_in_line(const float* values, int64_t n) { return is_nan_among(values, n); }
ARBORETUM_CLONES bool is_nan_in_line(const double* values, int64_t n) { return is_nan_among(values, n); }

template <class T>
bool is_nan_in(RawColumn line, int64_t n) {
    if (line.stride == sizeof(T)) return is_nan_in_line(reinterpret_cast<const T*>(line.data), n);
    for (int64_t i = 0; i < n; ++i)
        if (line.at<T>(i) != line.at<T>(i)) return true;
    return false;
}

}  // namespace

bool RawMatrix::has_nan() const {
    int64_t n_lines = n_rows, n = n_columns, between = row_stride, along = column_stride;
    if (std::abs(row_stride) < std::abs(column_stride)) {
        std::swap(n_lines, n);
        std::swap(between, along);
    }
    for (int64_t i = 0; i < n_lines; ++i) {
        const RawColumn line{data + i * between, along, type};
        if (type == ValueType::float32 ? is_nan_in<float>(line, n) : is_nan_in<double>(line, n)) return true;
    }
    return false;
}

}  // namespace arboretum
