// One T for each thread, on cache lines of its own. A line that one thread writes and another reads moves between their
// cores with every write, even if they mean different bytes of it; sums that lie side by side made two threads slower
// than one.
//
//   │ T of thread 0 │ unused │ T of thread 1 │ unused │      from multiples of 128 bytes on
#pragma once

#include <cstddef>
#include <vector>

namespace arboretum {

constexpr size_t bytes_apart = 128;  // two lines: some processors fetch them in pairs

template <class T>
class PerThread {
    struct alignas(bytes_apart) Slot {
        T own;
    };

    // Over the T of all slots.
    template <class S, class U>
    struct Iterator {
        S* slot;
        U& operator*() const { return slot->own; }
        Iterator& operator++() {
            ++slot;
            return *this;
        }
        bool operator!=(const Iterator& o) const { return slot != o.slot; }
    };

  public:
    PerThread() = default;
    explicit PerThread(int threads) : slots_(threads) {}
    PerThread(int threads, const T& first) : slots_(threads, Slot{first}) {}

    T& operator[](int thread) { return slots_[thread].own; }
    const T& operator[](int thread) const { return slots_[thread].own; }

    Iterator<Slot, T> begin() { return {slots_.data()}; }
    Iterator<Slot, T> end() { return {slots_.data() + slots_.size()}; }
    Iterator<const Slot, const T> begin() const { return {slots_.data()}; }
    Iterator<const Slot, const T> end() const { return {slots_.data() + slots_.size()}; }

  private:
    std::vector<Slot> slots_;
};

}  // namespace arboretum
