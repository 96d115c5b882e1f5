#include "numeric/blas_threads.h"

#ifndef _WIN32
#include <dlfcn.h>
#endif

namespace galvi {

namespace {

using Get = int (*)();
using Set = void (*)(int);

struct BlasThreads {
  Get get = nullptr;
  Set set = nullptr;
};

// R may be linked to any BLAS, so the function is looked up by name at run time.
BlasThreads find_blas_threads() {
#ifdef _WIN32
  return {};  // R's own BLAS, which has one thread
#else
  constexpr const char* names[][2] = {{"openblas_get_num_threads", "openblas_set_num_threads"},
                                      {"MKL_Get_Max_Threads", "MKL_Set_Num_Threads"},
                                      {"bli_thread_get_num_threads", "bli_thread_set_num_threads"}};
  for (const auto& name : names) {
    const BlasThreads found{reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, name[0])),
                            reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, name[1]))};
    if (found.get && found.set) return found;
  }
  return {};
#endif
}

const BlasThreads& blas_threads() {
  static const BlasThreads found = find_blas_threads();
  return found;
}

}  // namespace

OneBlasThread::OneBlasThread() : before_(0) {
  const BlasThreads& blas = blas_threads();
  if (!blas.set || blas.get() <= 1) return;
  before_ = blas.get();
  blas.set(1);
}

OneBlasThread::~OneBlasThread() {
  if (before_ > 0) blas_threads().set(before_);
}

}  // namespace galvi
