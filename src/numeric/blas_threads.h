// Work is divided among threads of our own, which call BLAS for parts of matrices. A BLAS that starts threads for each
// of these calls makes them wait for one another: on a busy machine a fit can take forty times as long, and its bits
// depend on the number of threads.
#pragma once

namespace galvi {

/// While this object lives, R's BLAS uses one thread, if it is OpenBLAS, MKL or BLIS; others have one or are
/// left alone.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  int before_;  // 0: nothing to restore
};

}  // namespace galvi
