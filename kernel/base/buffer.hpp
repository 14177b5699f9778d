// Memory that is written before it is read, in huge pages where the system has them: rows of a node lie all over a
// table, and with small pages every other access would miss the translation cache (a third of the histogram time at
// 1,000,000 rows).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace arboretum {

// Bytes that std::free gives back; `bytes` is rounded up to what was taken.
inline void* allocate_pages(size_t& bytes) {
    constexpr size_t huge_page = size_t{1} << 21;
    const size_t alignment = bytes >= 2 * huge_page ? huge_page : 64;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    void* data = std::aligned_alloc(alignment, bytes);
    if (data == nullptr) throw std::bad_alloc();
#if defined(__linux__)
    if (alignment == huge_page) madvise(data, bytes, MADV_HUGEPAGE);
#endif
    return data;
}

struct FreePages {
    void operator()(void* pages) const { std::free(pages); }
};

// Numbers that are written before they are read.
template <class T>
using Pages = std::unique_ptr<T[], FreePages>;

template <class T>
Pages<T> make_pages(size_t n) {
    size_t bytes = std::max<size_t>(n, 1) * sizeof(T);
    return Pages<T>(static_cast<T*>(allocate_pages(bytes)));
}

// The same for zeros, which take no memory before they are read.
template <class T>
Pages<T> make_zeros(size_t n) {
    void* zeros = std::calloc(std::max<size_t>(n, 1), sizeof(T));
    if (zeros == nullptr) throw std::bad_alloc();
    return Pages<T>(static_cast<T*>(zeros));
}

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
        std::free(data_);
        data_ = nullptr;
        capacity_ = 0;
        data_ = allocate_pages(bytes);
        capacity_ = bytes;
    }

    void* data_ = nullptr;
    size_t capacity_ = 0;
};

}  // namespace arboretum
