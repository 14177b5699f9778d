// Memory that is written before it is read, in huge pages where the system has them: rows of a node lie all over a
// table, and with small pages every other access would miss the translation cache (a third of the histogram time at
// 1,000,000 rows).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace arboretum {

class Buffer {
  public:
    Buffer() = default;
    ~Buffer() { std::free(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // At least n items of T; what was there is lost when it grows.
    template <class T>
    T* get(int64_t n) {
        size_t bytes = sizeof(T) * static_cast<size_t>(n);
        if (bytes > capacity_) allocate(bytes);
        return static_cast<T*>(data_);
    }

    // The same, but the first `kept` items stay.
    template <class T>
    T* extend(int64_t n, int64_t kept) {
        Buffer old;
        std::swap(data_, old.data_);
        std::swap(capacity_, old.capacity_);
        T* items = get<T>(n);
        if (kept > 0) std::memcpy(items, old.data_, sizeof(T) * static_cast<size_t>(kept));
        return items;
    }

    template <class T>
    T* get() const {
        return static_cast<T*>(data_);
    }

  private:
    void allocate(size_t bytes) {
        constexpr size_t huge_page = size_t{1} << 21;
        size_t alignment = bytes >= 2 * huge_page ? huge_page : 64;
        size_t rounded = (bytes + alignment - 1) / alignment * alignment;
        std::free(data_);
        capacity_ = 0;
        data_ = std::aligned_alloc(alignment, rounded);
        if (data_ == nullptr) throw std::bad_alloc();
        capacity_ = rounded;
#if defined(__linux__)
        if (alignment == huge_page) madvise(data_, rounded, MADV_HUGEPAGE);
#endif
    }

    void* data_ = nullptr;
    size_t capacity_ = 0;
};

}  // namespace arboretum
