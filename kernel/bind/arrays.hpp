// Array types that cross the boundary. `const` is an input; sizes that Python knows are allocated there.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/detail/nb_list.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

// nanobind's own caster of std::vector allocates in a function that is noexcept: without memory, the process would end.
template <class T>
struct nanobind::detail::type_caster<std::vector<T>> : nanobind::detail::list_caster<std::vector<T>, T> {
    template <class Flags>
    bool from_python(handle source, Flags flags, cleanup_list* cleanup) {
        if (!PySequence_Check(source.ptr()) || PyUnicode_Check(source.ptr()) || PyBytes_Check(source.ptr()))
            return false;
        const size_t size = len(source);
        this->value.clear();
        this->value.reserve(size);
        make_caster<T> caster;
        flags = flags_for_local_caster<T>(flags);
        for (size_t i = 0; i < size; ++i) {
            object item = steal(PySequence_GetItem(source.ptr(), static_cast<Py_ssize_t>(i)));
            if (!item.is_valid()) raise_python_error();
            if (!caster.from_python(item, flags, cleanup) || !caster.template can_cast<T>()) return false;
            this->value.push_back(caster.operator cast_t<T>());
        }
        return true;
    }
};

#include "base/buffer.hpp"
#include "bind/gil.hpp"

namespace arboretum {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A NumPy array that owns the items.
template <class T, class Deleter>
nb::ndarray<nb::numpy, T, nb::ndim<1>> own_numpy(std::unique_ptr<T[], Deleter> items, size_t size) {
    nb::capsule owner(items.get(), [](void* p) noexcept { Deleter{}(static_cast<T*>(p)); });
    return {items.release(), {size}, owner};
}

// A NumPy array that owns a copy of what `items` holds.
template <class T, class Items>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(const Items& items) {
    Pages<T> data = make_pages<T>(items.size());
    std::copy(items.begin(), items.end(), data.get());
    return own_numpy(std::move(data), items.size());
}

}  // namespace arboretum
