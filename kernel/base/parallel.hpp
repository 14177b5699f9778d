// A small thread pool: dynamic chunks, safe after fork, never nested, no OpenMP.
//
//   caller   posts job ──► takes chunks itself ──► waits only for chunks that others are inside
//   workers  spin a few microseconds for the next job that wants them, then sleep, each on its own
//
// The caller never waits for a worker to *start*: on a busy machine it does all chunks itself, so a core taken by
// another process costs its share and no more. One job runs at a time; a caller that finds the pool taken (by another
// caller, or by the job that it is itself a part of) runs its chunks alone, which makes concurrent and nested calls
// safe without queues.
//
// A chunk may throw, in whichever thread: no further chunks are handed out, the job is closed as always (its chunks
// refer to the caller's stack), and the caller throws the first exception again. Which one is first may depend on
// timing. If the system refuses to start a thread, the pool works without it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace arboretum {

constexpr int max_threads = 256;

// A function of (chunk, worker), which must outlive it: the pool is compiled once, not once per function.
class ChunkFunction {
  public:
    ChunkFunction() = default;
    template <class Run>
    explicit ChunkFunction(Run& run)
        : body_(const_cast<void*>(static_cast<const void*>(&run))),
          call_([](void* body, int64_t chunk, int worker) { (*static_cast<Run*>(body))(chunk, worker); }) {}

    void operator()(int64_t chunk, int worker) const { call_(body_, chunk, worker); }

  private:
    void* body_ = nullptr;
    void (*call_)(void*, int64_t, int) = nullptr;
};

// Calls run(chunk, worker) for every chunk in [0, n_chunks); worker is in [0, threads) and no two calls that overlap in
// time share it. Returns when all chunks are done, or throws what one of them threw.
void run_chunks(int64_t n_chunks, int threads, const ChunkFunction& run);

template <class Run>
void parallel_for(int64_t n_chunks, int threads, Run&& run) {
    run_chunks(n_chunks, threads, ChunkFunction(run));
}

// run(begin, end, worker) over [0, n) in fixed blocks: the blocks never depend on the number of threads.
template <class Run>
void parallel_blocks(int64_t n, int64_t block, int threads, Run&& run) {
    int64_t n_blocks = (n + block - 1) / block;
    parallel_for(n_blocks, threads,
                 [&](int64_t i, int worker) { run(i * block, std::min(n, (i + 1) * block), worker); });
}

}  // namespace arboretum
