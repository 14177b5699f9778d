#include "base/parallel.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "base/spinning.hpp"

namespace arboretum {

namespace {

class ThreadPool {
  public:
    // One pool per process, made when the library is loaded, never destroyed: detached threads refer to it to the end.
    static ThreadPool& instance() { return *pool_; }

    // Calls run(chunk, worker) for every chunk in [0, n_chunks); worker is in [0, threads) and no two calls that
    // overlap in time share it. Returns when all chunks are done, or throws what one of them threw.
    void for_each(int64_t n_chunks, int threads, const ChunkFunction& run) {
        threads = static_cast<int>(std::min<int64_t>({threads, n_chunks, max_threads}));
        if (threads <= 1 || taken_.exchange(true, std::memory_order_acquire)) {
            for (int64_t chunk = 0; chunk < n_chunks; ++chunk) run(chunk, 0);
            return;
        }
        grow_to(threads - 1);
        job_.run = run;
        job_.n_chunks = n_chunks;
        job_.next.store(0, std::memory_order_relaxed);
        open_job(threads - 1);
        job_.take_chunks(0);
        close_job();
        std::exception_ptr error = job_.take_error();
        taken_.store(false, std::memory_order_release);
        if (error != nullptr) std::rethrow_exception(std::move(error));
    }

  private:
    struct Job {
        ChunkFunction run;
        int64_t n_chunks = 0;
        std::atomic<int64_t> next{0};
        std::atomic<bool> failed{false};
        std::exception_ptr error;  // of the first chunk that threw

        void take_chunks(int worker) noexcept {
            try {
                for (int64_t chunk; (chunk = next.fetch_add(1, std::memory_order_relaxed)) < n_chunks;)
                    run(chunk, worker);
            } catch (...) {
                next.store(n_chunks, std::memory_order_relaxed);
                if (!failed.exchange(true, std::memory_order_relaxed)) error = std::current_exception();
            }
        }

        // After the job is closed: once no worker is inside, everything that they wrote is visible.
        std::exception_ptr take_error() {
            failed.store(false, std::memory_order_relaxed);
            return std::exchange(error, nullptr);
        }
    };

    // A worker sleeps on its own: a job wakes the workers that it wants and no others, however many earlier jobs had.
    struct Worker {
        std::mutex sleep;
        std::condition_variable wake;
        std::atomic<bool> asleep{false}, started{false};
    };

    // ticket_: │ number of the job │ workers that it wants, the first ones; 0 while no job is open │
    // busy_: workers that looked at the open job and have not left it.
    static constexpr int wanted_bits = 9;
    static_assert(max_threads < 1 << wanted_bits);

    static int wanted(uint64_t ticket) { return static_cast<int>(ticket & ((1 << wanted_bits) - 1)); }

    void put_ticket(int workers) {
        const uint64_t number = (ticket_.load(std::memory_order_relaxed) >> wanted_bits) + 1;
        ticket_.store(number << wanted_bits | static_cast<uint64_t>(workers), std::memory_order_seq_cst);
    }

    void open_job(int workers) {
        put_ticket(workers);
        for (Worker* worker = workers_; worker < workers_ + workers; ++worker) {
            if (!worker->asleep.load(std::memory_order_seq_cst)) continue;
            {
                std::lock_guard<std::mutex> lock(worker->sleep);
            }
            worker->wake.notify_one();
        }
    }

    void close_job() {
        put_ticket(0);
        for (int spins = 0; busy_.load(std::memory_order_seq_cst) != 0; ++spins) {
            if (spins < 4096)
                spin_pause();
            else
                std::this_thread::yield();
        }
    }

    // Starts workers up to this number. If the system refuses (memory, a limit of threads), the existing ones
    // serve, and the next attempt comes after many jobs: a refusal can cost as much as a short job.
    void grow_to(int workers) {
        if (n_workers_.load(std::memory_order_relaxed) >= workers) return;
        if (jobs_to_wait_.load(std::memory_order_relaxed) > 0) {
            jobs_to_wait_.fetch_sub(1, std::memory_order_relaxed);
            return;
        }
        for (int i = 0; i < workers; ++i) {
            if (workers_[i].started.exchange(true, std::memory_order_relaxed)) continue;
            n_workers_.fetch_add(1, std::memory_order_relaxed);
            try {
                std::thread([this, i] { work(i); }).detach();
            } catch (...) {
                return give_up(i);
            }
        }
    }

    void give_up(int index) {
        jobs_to_wait_.store(jobs_after_refusal, std::memory_order_relaxed);
        n_workers_.fetch_sub(1, std::memory_order_relaxed);
        workers_[index].started.store(false, std::memory_order_relaxed);
    }

    // What the C++ runtime keeps per thread for exceptions is allocated when it is first used, and the loader ends the
    // process if it cannot be. Threads use it when they start, not when memory has run out; that there is memory for it
    // is found by allocating blocks of its possible sizes, which the allocator then keeps at hand for this thread.
    static bool can_throw() {
        constexpr int n_sizes = 16;
        void* volatile blocks[n_sizes];  // volatile: compilers drop allocations that nothing uses
        bool all = true;
        for (int i = 0; i < n_sizes; ++i) {
            blocks[i] = std::malloc(static_cast<size_t>(16 * (i + 1)));
            all = all && blocks[i] != nullptr;
        }
        for (int i = 0; i < n_sizes; ++i) std::free(blocks[i]);
        if (all) {
            [[maybe_unused]] volatile int used = std::uncaught_exceptions();
        }
        return all;
    }

    void work(int index) noexcept {
        if (!can_throw()) return give_up(index);
        uint64_t seen = 0;
        for (;;) {
            seen = wait_for_ticket(index, seen);
            busy_.fetch_add(1, std::memory_order_seq_cst);
            // The job may have closed between the two loads: only an unchanged ticket makes its fields safe to read.
            if (ticket_.load(std::memory_order_seq_cst) == seen) job_.take_chunks(index + 1);
            busy_.fetch_sub(1, std::memory_order_seq_cst);
        }
    }

    uint64_t wait_for_ticket(int index, uint64_t seen) {
        uint64_t ticket = seen;
        auto fresh = [&] {
            ticket = ticket_.load(std::memory_order_seq_cst);
            return ticket != seen && index < wanted(ticket);
        };
        const auto end = std::chrono::steady_clock::now() + awake;
        for (int round = 0; round < eager_rounds || std::chrono::steady_clock::now() < end; ++round) {
            for (int i = 0; i < 32; ++i) {
                if (fresh()) return ticket;
                spin_pause();
            }
            if (round >= eager_rounds) std::this_thread::yield();  // to whoever has something to do
        }
        Worker& worker = workers_[index];
        std::unique_lock<std::mutex> lock(worker.sleep);
        worker.asleep.store(true, std::memory_order_seq_cst);
        worker.wake.wait(lock, fresh);
        worker.asleep.store(false, std::memory_order_relaxed);
        return ticket;
    }

    // The child of a fork has none of the threads and may have been forked in the middle of a job: it starts anew, in
    // the same memory, since allocating may fail.
    static ThreadPool* start() {
        alignas(ThreadPool) static std::byte memory[sizeof(ThreadPool)];
        can_throw();
        pthread_atfork(nullptr, nullptr, [] { new (memory) ThreadPool; });
        return new (memory) ThreadPool;
    }

    // A worker waits for the next job awake for a millisecond: the rounds of a fit are no further apart, and waking it
    // takes as long as many a job. At first it does not look at the clock: 60 × 32 pauses are some 50 µs.
    static constexpr int eager_rounds = 60;
    static constexpr std::chrono::milliseconds awake{1};
    static constexpr int jobs_after_refusal = 1000;

    static ThreadPool* const pool_;

    std::atomic<bool> taken_{false};  // by a caller, from before its job opens until it has closed
    Job job_;
    alignas(64) std::atomic<uint64_t> ticket_{0};
    alignas(64) std::atomic<int> busy_{0};
    std::atomic<int> n_workers_{0};
    std::atomic<int> jobs_to_wait_{0};
    Worker workers_[max_threads];
};

// Made while the library is loaded: a function-local static would leave a child hanging that is forked while another
// thread makes it.
ThreadPool* const ThreadPool::pool_ = ThreadPool::start();

}  // namespace

void run_chunks(int64_t n_chunks, int threads, const ChunkFunction& run) {
    ThreadPool::instance().for_each(n_chunks, threads, run);
}

}  // namespace arboretum
