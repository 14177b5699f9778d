// Array types that cross the boundary. `const` is an input; sizes that Python knows are allocated there.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

namespace arboretum {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Released = nb::call_guard<nb::gil_scoped_release>;

// A NumPy array that owns a copy of what `items` holds.
template <class T, class Items>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(const Items& items) {
    T* data = new T[items.size()];
    std::copy(items.begin(), items.end(), data);
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return {data, {items.size()}, owner};
}

}  // namespace arboretum
