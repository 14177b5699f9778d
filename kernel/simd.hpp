// One source, several instruction sets: the loader picks the clone for the processor at hand. Contraction to fused
// multiply-add is off for the whole build, so every clone gives the same bits.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && \
    (!defined(__clang__) || __clang_major__ >= 16)
#define ARBORETUM_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ARBORETUM_CLONES
#endif
