// Columns of a table, as NumPy holds them.
#pragma once

#include <string>

#include "bind/arrays.hpp"
#include "data/raw_column.hpp"

namespace arboretum {

using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

inline std::string column_name(size_t number) { return "column " + std::to_string(number); }

// name: of the column, for errors.
template <class Array>
ValueType type_of(const Array& array, const std::string& name) {
    if (array.dtype() == nb::dtype<float>()) return ValueType::float32;
    if (array.dtype() == nb::dtype<double>()) return ValueType::float64;
    if (array.dtype() == nb::dtype<int32_t>()) return ValueType::category;
    throw nb::type_error((name + " must be float32, float64 or int32").c_str());
}

template <class Array>
RawColumn raw_column(const Array& array, const std::string& name) {
    return {static_cast<const char*>(array.data()), array.stride(0) * static_cast<int64_t>(array.itemsize()),
            type_of(array, name)};
}

template <class Array>
RawColumn raw_column(const Array& array, int64_t n_rows, const std::string& name) {
    if (array.ndim() != 1 || static_cast<int64_t>(array.shape(0)) != n_rows)
        throw nb::value_error((name + " must have " + std::to_string(n_rows) + " values").c_str());
    return raw_column(array, name);
}

inline std::vector<RawColumn> raw_columns(const std::vector<Column>& arrays) {
    std::vector<RawColumn> columns;
    for (const Column& array : arrays) columns.push_back(raw_column(array, column_name(columns.size())));
    return columns;
}

template <class Array>
std::vector<RawColumn> raw_columns(const std::vector<Array>& arrays, int64_t n_rows) {
    std::vector<RawColumn> columns;
    for (const Array& array : arrays) columns.push_back(raw_column(array, n_rows, column_name(columns.size())));
    return columns;
}

}  // namespace arboretum
