// The door of a call that works without Python's global lock.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

namespace arboretum {

// Other threads of Python run while an object of this class lives.
//
// When the interpreter ends, CPython before 3.14 ends daemon threads that ask for the lock by pthread_exit. That
// unwinds the stack, meets nanobind's noexcept functions and aborts the process. CPython 3.14 puts such threads to
// sleep for ever instead; `Sleep` does so for all versions, since its destructor is the first that the unwinding calls.
class GilReleased {
  public:
    GilReleased() : state_(PyEval_SaveThread()) {}
    ~GilReleased() noexcept(false) {
        Sleep unless_locked;
        PyEval_RestoreThread(state_);
        unless_locked.off = true;
    }
    GilReleased(const GilReleased&) = delete;
    GilReleased& operator=(const GilReleased&) = delete;

  private:
    struct Sleep {
        bool off = false;
        ~Sleep() {
            while (!off) std::this_thread::sleep_for(std::chrono::hours(1));
        }
    };

    PyThreadState* state_;
};

using Released = nanobind::call_guard<GilReleased>;

}  // namespace arboretum
