// Defines GALVI_HAS_AVX2_CODE where the compiler makes AVX2 code for the functions that ask for it.
#pragma once

// Not on Windows, where GCC does not align the stack for wide registers (its bug 54412).
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#define GALVI_HAS_AVX2_CODE
#include <immintrin.h>
#endif
