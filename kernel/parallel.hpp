// A small thread pool: dynamic chunks, safe after fork, never nested, no OpenMP.
//
//   caller   posts job ──► takes chunks itself ──► waits only for chunks that others are inside
//   workers  spin a few microseconds for the next job, then sleep on a condition variable
//
// The caller never waits for a worker to *start*: on a busy machine it does all chunks itself, so a core taken by
// another process costs its share and no more. One job runs at a time; a caller that finds the pool taken (or that is
// itself inside a job) runs its chunks alone, which makes concurrent and nested calls safe without queues.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

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

class ThreadPool {
  public:
    static constexpr int max_threads = 256;

    // One pool a process; after fork the child starts an empty one, since threads do not survive a fork.
    static ThreadPool& instance() {
        static std::once_flag once;
        std::call_once(once, [] {
            holder() = new ThreadPool;
            pthread_atfork(nullptr, nullptr, [] { holder() = new ThreadPool; });
        });
        return *holder();
    }

    // Calls run(chunk, worker) for every chunk in [0, n_chunks); worker is in [0, threads) and no two calls that
    // overlap in time share it. Returns when all chunks are done.
    template <class Run>
    void for_each(int64_t n_chunks, int threads, Run&& run) {
        threads = static_cast<int>(std::min<int64_t>({threads, n_chunks, max_threads}));
        std::unique_lock<std::mutex> turn(turn_, std::defer_lock);
        if (threads <= 1 || inside() || !turn.try_lock()) {
            for (int64_t chunk = 0; chunk < n_chunks; ++chunk) run(chunk, 0);
            return;
        }
        grow_to(threads - 1);
        using Body = std::remove_reference_t<Run>;
        job_.body = const_cast<void*>(static_cast<const void*>(&run));
        job_.call = [](void* body, int64_t chunk, int worker) { (*static_cast<Body*>(body))(chunk, worker); };
        job_.n_chunks = n_chunks;
        job_.next.store(0, std::memory_order_relaxed);
        job_.seats.store(threads - 1, std::memory_order_relaxed);
        open_job();
        inside() = true;
        job_.take_chunks(0);
        inside() = false;
        close_job();
    }

  private:
    struct Job {
        void* body = nullptr;
        void (*call)(void*, int64_t, int) = nullptr;
        int64_t n_chunks = 0;
        std::atomic<int64_t> next{0};
        std::atomic<int> seats{0};

        void take_chunks(int worker) {
            for (int64_t chunk; (chunk = next.fetch_add(1, std::memory_order_relaxed)) < n_chunks;)
                call(body, chunk, worker);
        }
    };

    // ticket_: odd while a job is open. busy_: workers that looked at the open job and have not left it.
    void open_job() {
        ticket_.fetch_add(1, std::memory_order_seq_cst);
        if (sleepers_.load(std::memory_order_seq_cst) > 0) {
            {
                std::lock_guard<std::mutex> lock(sleep_);
            }
            wake_.notify_all();
        }
    }

    void close_job() {
        ticket_.fetch_add(1, std::memory_order_seq_cst);
        for (int spins = 0; busy_.load(std::memory_order_seq_cst) != 0; ++spins) {
            if (spins < 4096)
                spin_pause();
            else
                std::this_thread::yield();
        }
    }

    void grow_to(int workers) {
        for (; n_workers_ < workers; ++n_workers_) std::thread([this] { work(); }).detach();
    }

    [[noreturn]] void work() {
        inside() = true;
        uint64_t seen = 0;
        for (;;) {
            seen = wait_for_ticket(seen);
            busy_.fetch_add(1, std::memory_order_seq_cst);
            // The job may have closed between the two loads: only an unchanged ticket makes its fields safe to read.
            if (ticket_.load(std::memory_order_seq_cst) == seen) {
                int seat = job_.seats.fetch_sub(1, std::memory_order_relaxed);
                if (seat > 0) job_.take_chunks(seat);
            }
            busy_.fetch_sub(1, std::memory_order_seq_cst);
        }
    }

    uint64_t wait_for_ticket(uint64_t seen) {
        uint64_t ticket = seen;
        auto fresh = [&] {
            ticket = ticket_.load(std::memory_order_seq_cst);
            return (ticket & 1) != 0 && ticket != seen;
        };
        for (int round = 0; round < spin_rounds; ++round) {
            for (int i = 0; i < 32; ++i) {
                if (fresh()) return ticket;
                spin_pause();
            }
        }
        std::unique_lock<std::mutex> lock(sleep_);
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        wake_.wait(lock, fresh);
        sleepers_.fetch_sub(1, std::memory_order_seq_cst);
        return ticket;
    }

    static ThreadPool*& holder() {
        static ThreadPool* pool = nullptr;
        return pool;
    }
    static bool& inside() {
        static thread_local bool flag = false;
        return flag;
    }

    static constexpr int spin_rounds = 60;  // × 32 pauses: some 50 µs on current processors

    std::mutex turn_;
    Job job_;
    alignas(64) std::atomic<uint64_t> ticket_{0};
    alignas(64) std::atomic<int> busy_{0};
    std::atomic<int> sleepers_{0};
    std::mutex sleep_;
    std::condition_variable wake_;
    int n_workers_ = 0;
};

// run(chunk, worker) for chunk in [0, n_chunks).
template <class Run>
void parallel_for(int64_t n_chunks, int threads, Run&& run) {
    ThreadPool::instance().for_each(n_chunks, threads, run);
}

// run(begin, end, worker) over [0, n) in fixed blocks: the blocks never depend on the number of threads.
template <class Run>
void parallel_blocks(int64_t n, int64_t block, int threads, Run&& run) {
    int64_t n_blocks = (n + block - 1) / block;
    parallel_for(n_blocks, threads,
                 [&](int64_t i, int worker) { run(i * block, std::min(n, (i + 1) * block), worker); });
}

}  // namespace arboretum
