// kernel/base/parallel.hpp, for tests of the pool
#include "base/parallel.hpp"
#include "bind/arrays.hpp"

namespace arboretum {

void bind_threads(nb::module_& m) {
    m.def(
        "for_each_chunk",
        [](int64_t n_chunks, int threads, const nb::callable& run) {
            GilReleased released;
            parallel_for(n_chunks, threads, [&](int64_t chunk, int worker) {
                nb::gil_scoped_acquire acquire;
                run(chunk, worker);
            });
        },
        nb::arg("n_chunks"), nb::arg("threads"), nb::arg("run"));
}

}  // namespace arboretum
