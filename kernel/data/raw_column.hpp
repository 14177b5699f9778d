// A column of a table, or a table of one type, as the user holds it.
#pragma once

#include <cstdint>
#include <cstring>

namespace arboretum {

enum class ValueType : int { float32, float64, category };

// One column of a table as the user holds it: any stride, no copy.
struct RawColumn {
    const char* data;
    int64_t stride;  // bytes
    ValueType type;

    template <class T>
    T at(int64_t row) const {
        T value;
        std::memcpy(&value, data + row * stride, sizeof value);
        return value;
    }
    double number(int64_t row) const { return type == ValueType::float32 ? at<float>(row) : at<double>(row); }
    void prefetch(int64_t row) const { __builtin_prefetch(data + row * stride); }
};

struct RawMatrix {
    const char* data;
    int64_t n_rows, n_columns;
    int64_t row_stride, column_stride;  // bytes
    ValueType type;

    RawColumn column(int64_t j) const { return {data + j * column_stride, row_stride, type}; }
    bool has_nan() const;
};

}  // namespace arboretum
