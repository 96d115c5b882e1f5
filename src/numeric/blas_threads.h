// Loops over blocks call BLAS for small matrices, from several threads of our own. A BLAS that starts threads
// for each of these calls makes them wait for one another: a fit can take five times as long.
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
