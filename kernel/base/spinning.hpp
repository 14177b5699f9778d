// Waiting awake, for what takes microseconds: sleeping and being woken takes longer than that.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace arboretum {

inline void spin_pause() {
#if defined(__x86_64__) || defined(_M_X64)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Gives way to others once it has waited for some time: whoever holds it may have lost its core.
class SpinLock {
  public:
    void lock() {
        for (int spins = 0; held_.exchange(true, std::memory_order_acquire); ++spins) {
            if (spins < 1024)
                spin_pause();
            else
                std::this_thread::yield();
        }
    }
    void unlock() { held_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> held_{false};
};

// A count of changes that threads wait for: awake for some 50 µs, then asleep.
class Changes {
  public:
    uint32_t count() const { return count_.load(std::memory_order_acquire); }
    void add() {
        count_.fetch_add(1, std::memory_order_release);
        count_.notify_all();
    }
    // Until there are more than were seen.
    void wait(uint32_t seen) const {
        for (int spins = 0; spins < 2048; ++spins) {
            if (count() != seen) return;
            spin_pause();
        }
        count_.wait(seen, std::memory_order_acquire);
    }

  private:
    std::atomic<uint32_t> count_{0};
};

}  // namespace arboretum
