// One source, several instruction sets: the loader picks the clone for the processor at hand. Contraction to fused
// multiply-add is off for the whole build, so every clone gives the same bits.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define ARBORETUM_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ARBORETUM_CLONES
#endif

// Before a loop whose iterations do not touch each other's memory.
#if defined(__clang__)
#define ARBORETUM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define ARBORETUM_INDEPENDENT _Pragma("GCC ivdep")
#else
#define ARBORETUM_INDEPENDENT
#endif
