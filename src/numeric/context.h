// What every computation receives besides its data: a linear algebra backend, a monitor, the number of
// threads.
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "numeric/types.h"

namespace galvi {

class Backend;
class ThreadPool;

/// One line of progress: the stage of the computation, the iteration, the bound there and its optimality gap (NaN
/// where there is none), and the number of iterations if it is known beforehand (else 0).
struct Progress {
  std::string stage;
  int iteration;
  double elbo;
  double gap;
  int of = 0;
};

/// Thrown when the time limit of a computation is reached.
class OutOfTime : public std::exception {
 public:
  const char* what() const noexcept override { return "the time limit was reached before the computation was complete"; }
};

/// The core's only connection to the outside: progress goes out, interrupts and random numbers come in.
class Monitor {
 public:
  virtual ~Monitor() = default;
  /// Called in every loop that can last 0.2 s. Throws to stop the computation.
  virtual void poll() = 0;
  /// Between with_limit() and without_limit() poll() throws OutOfTime after the time limit.
  virtual void with_limit() {}
  virtual void without_limit() {}
  virtual void report(const Progress& progress) = 0;
  /// Uniform on (0, 1), from R's generator.
  virtual double uniform() = 0;
  /// Standard normal, from R's generator.
  virtual double normal() = 0;
};

/// While it lives, poll_within_row() polls `monitor` on the thread that made it.
class Listening {
 public:
  explicit Listening(Monitor& monitor);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Monitor* before_;
};
/// For what is computed of a row, which knows no monitor and may be integrals of integrals. Does nothing on threads
/// that have no monitor.
void poll_within_row();

/// While it lives, the computation must end in time.
class TimeLimit {
 public:
  explicit TimeLimit(Monitor& monitor) : monitor_(monitor) { monitor_.with_limit(); }
  ~TimeLimit() { monitor_.without_limit(); }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  Monitor& monitor_;
};

/// The cost of a fit so far. Flops count multiply-adds as two.
struct Cost {
  double flops = 0;
  int factorisations = 0;  // of an N x N or L x L matrix
  int products = 0;        // square matrix times vector
  int sweeps = 0;          // expectations of all rows
  double rows = 0;         // that minibatches visited
};

struct Context {
  Backend& backend;
  Monitor& monitor;
  int threads = 1;
  Cost cost = {};
  std::shared_ptr<ThreadPool> pool = {};  // that of parallel_for(), from the first loop that is worth it
};

}  // namespace galvi
