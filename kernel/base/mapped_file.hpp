// Pages of a file that is mapped to memory: releasing those that were read keeps a process small. The system caches
// them as long as it has room, so that the next reader finds them there.
#pragma once

#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace arboretum {

// Releases the pages that bytes [begin, end) of a shared mapping lie on; what was written stays. `base` is the start
// of the mapping. A page that is read again comes back, so threads may still be reading there.
inline void forget_pages([[maybe_unused]] uint8_t* base, [[maybe_unused]] int64_t begin, [[maybe_unused]] int64_t end) {
#if defined(__linux__)
    constexpr int64_t fetched_together = 64 * 1024;  // Linux maps this much around a missing page
    begin = begin / fetched_together * fetched_together;
    madvise(base + begin, static_cast<size_t>(end - begin), MADV_DONTNEED);
#endif
}

}  // namespace arboretum
