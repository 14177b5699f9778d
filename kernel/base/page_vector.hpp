// Large vectors whose items are written before they are read: resize leaves new items as they are, in huge pages.
#pragma once

#include <new>
#include <utility>
#include <vector>

#include "base/buffer.hpp"

namespace arboretum {

template <class T>
struct PageAllocator {
    using value_type = T;

    PageAllocator() = default;
    template <class U>
    PageAllocator(const PageAllocator<U>&) {}

    T* allocate(size_t n) { return make_pages<T>(n).release(); }
    void deallocate(T* items, size_t) { FreePages{}(items); }

    template <class U>
    void construct(U*) {}
    template <class U, class... Arguments>
    void construct(U* item, Arguments&&... arguments) {
        new (item) U{std::forward<Arguments>(arguments)...};
    }

    friend bool operator==(PageAllocator, PageAllocator) { return true; }
};

template <class T>
using PageVector = std::vector<T, PageAllocator<T>>;

}  // namespace arboretum
