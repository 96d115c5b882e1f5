// The numeric layer as R functions, for the tests alone.
#include <Rcpp/Lightest>

#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "numeric/backend.h"
#include "numeric/backend_eigen.h"
#include "numeric/dense.h"
#include "numeric/parallel.h"

namespace {

using galvi::Index;
using galvi::Matrix;
using galvi::Vector;

class CountingMonitor final : public galvi::Monitor {
 public:
  explicit CountingMonitor(int stop_at = -1) : stop_at_(stop_at) {}
  void poll() override {
    if (++polls == stop_at_) throw std::runtime_error("stopped by the monitor");
  }
  void report(const galvi::Progress&) override {}
  int polls = 0;

 private:
  int stop_at_;
};

// The package's backends, and "narrow": Eigen's as it is on a processor without wide registers.
galvi::Backend& backend_named(const std::string& name) {
  static galvi::EigenBackend narrow(false);
  if (name == "narrow") return narrow;
  return galvi::backend(name);
}

struct Setting {
  explicit Setting(const std::string& backend, int threads = 1, int stop_at = -1)
      : monitor(stop_at), context{backend_named(backend), monitor, threads} {}
  CountingMonitor monitor;
  galvi::Context context;
};

Matrix as_matrix(const Rcpp::NumericMatrix& A) {
  return Eigen::Map<const Matrix>(A.begin(), A.nrow(), A.ncol());
}

Vector as_vector(const Rcpp::NumericVector& x) { return Eigen::Map<const Vector>(x.begin(), x.size()); }

Rcpp::NumericMatrix as_r(const Matrix& A) {
  Rcpp::NumericMatrix result(static_cast<int>(A.rows()), static_cast<int>(A.cols()));
  Eigen::Map<Matrix>(result.begin(), A.rows(), A.cols()) = A;
  return result;
}

Rcpp::NumericVector as_r(const Vector& x) { return Rcpp::NumericVector(x.data(), x.data() + x.size()); }

Rcpp::List with_cost(const Matrix& value, const Setting& setting) {
  const galvi::Cost& cost = setting.context.cost;
  return Rcpp::List::create(Rcpp::Named("value") = as_r(value), Rcpp::Named("flops") = cost.flops,
                            Rcpp::Named("factorisations") = cost.factorisations,
                            Rcpp::Named("products") = cost.products,
                            Rcpp::Named("polls") = setting.monitor.polls);
}

}  // namespace

// [[Rcpp::export(rng = false)]]
std::string probe_backend(std::string backend) { return galvi::backend(backend).name(); }

// NULL where the factorisation fails. `positive` < 0: all of A.
// [[Rcpp::export(rng = false)]]
Rcpp::RObject probe_cholesky(Rcpp::NumericMatrix A, std::string backend, int positive = -1, int stop_at = -1,
                             int threads = 1) {
  Setting setting(backend, threads, stop_at);
  Matrix L = as_matrix(A);
  const bool done = positive < 0 ? galvi::cholesky(setting.context, L)
                                 : galvi::signed_cholesky(setting.context, L, positive);
  if (!done) return R_NilValue;
  return with_cost(L, setting);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List probe_cholesky_with_jitter(Rcpp::NumericMatrix A, std::string backend) {
  Setting setting(backend);
  Matrix L = as_matrix(A);
  const double jitter = galvi::cholesky_with_jitter(setting.context, L);
  Rcpp::List result = with_cost(L, setting);
  result["jitter"] = jitter;
  return result;
}

// what: "factor" for L^-1, "matrix" for the lower triangle of (L J L')^-1.
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_invert(Rcpp::NumericMatrix L, std::string what, std::string backend, int positive = -1,
                        int threads = 1) {
  Setting setting(backend, threads);
  Matrix result = as_matrix(L);
  if (what == "factor") {
    galvi::invert_lower(setting.context, result);
  } else {
    galvi::invert_from_cholesky(setting.context, result, positive < 0 ? result.rows() : positive);
  }
  return with_cost(result, setting);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List probe_solve(Rcpp::NumericMatrix L, Rcpp::NumericMatrix B, bool transposed, std::string backend) {
  Setting setting(backend);
  const Matrix factor = as_matrix(L);
  Matrix result = as_matrix(B);
  if (transposed) {
    galvi::solve_lower_transposed(setting.context, factor, result);
  } else {
    galvi::solve_lower(setting.context, factor, result);
  }
  return with_cost(result, setting);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List probe_multiply(bool transpose_a, bool transpose_b, double alpha, Rcpp::NumericMatrix A,
                          Rcpp::NumericMatrix B, double beta, Rcpp::NumericMatrix C, std::string backend) {
  Setting setting(backend);
  Matrix result = as_matrix(C);
  galvi::multiply(setting.context, transpose_a, transpose_b, alpha, as_matrix(A), as_matrix(B), beta, result);
  return with_cost(result, setting);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List probe_add_crossproduct(double alpha, Rcpp::NumericMatrix A, double beta, Rcpp::NumericMatrix C,
                                  std::string backend) {
  Setting setting(backend);
  Matrix result = as_matrix(C);
  galvi::add_crossproduct(setting.context, alpha, as_matrix(A), beta, result);
  return with_cost(result, setting);
}

// The backend's own B <- alpha op(L) B or alpha B op(L).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_triangular_multiply(bool left, bool transpose, double alpha, Rcpp::NumericMatrix L,
                                              Rcpp::NumericMatrix B, std::string backend) {
  Matrix result = as_matrix(B);
  backend_named(backend).triangular_multiply(left, transpose, alpha, as_matrix(L), result);
  return as_r(result);
}

// what: "plain" A x, "squared" (A o A) x, "hadamard" (A o B) x.
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_symmetric_product(std::string what, Rcpp::NumericMatrix A, Rcpp::NumericMatrix B,
                                   Rcpp::NumericVector x, int threads = 1) {
  Setting setting("eigen", threads);
  const Matrix a = as_matrix(A), b = as_matrix(B);
  const Vector v = as_vector(x);
  if (what == "plain") return with_cost(galvi::symmetric_product(setting.context, a, v), setting);
  if (what == "squared") return with_cost(galvi::squared_symmetric_product(setting.context, a, v), setting);
  return with_cost(galvi::hadamard_symmetric_product(setting.context, a, b, v), setting);
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_fill_upper(Rcpp::NumericMatrix A) {
  Matrix result = as_matrix(A);
  galvi::fill_upper(result);
  return as_r(result);
}

// Block b sums sin(i) over its own stretch of i; blocks in `failing` throw, naming themselves (from 0).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_parallel(int blocks, int threads, Rcpp::IntegerVector failing, int stop_at = -1,
                                   bool nested = false) {
  Setting setting("eigen", threads, stop_at);
  const std::vector<int> fails = Rcpp::as<std::vector<int>>(failing);
  Vector sums = Vector::Zero(blocks);
  galvi::parallel_for(setting.context, blocks, 1e9, [&](Index block) {
    for (int fail : fails) {
      if (fail == block) throw std::runtime_error("block " + std::to_string(block));
    }
    const auto work = [&](Index repeat) {
      for (int i = 0; i < 1000; ++i) sums[block] += std::sin(static_cast<double>(1000 * block + i + repeat));
    };
    if (nested) {
      galvi::parallel_for(setting.context, 3, 1e9, work);
    } else {
      work(0);
    }
  });
  return as_r(sums);
}

// [[Rcpp::export(rng = false)]]
bool probe_has_openmp() {
#ifdef _OPENMP
  return true;
#else
  return false;
#endif
}

// CPU seconds that one operation takes, averaged over `repeats` runs in a row; A is positive definite and L
// its lower Cholesky factor. For bench/, where R's own functions are timed beside it.
// [[Rcpp::export(rng = false)]]
double probe_dense_seconds(std::string what, Rcpp::NumericMatrix A, Rcpp::NumericMatrix L,
                           std::string backend, int repeats) {
  Setting setting(backend);
  const Matrix matrix = as_matrix(A), factor = as_matrix(L);
  const Vector x = Vector::LinSpaced(matrix.rows(), -1.0, 1.0);
  Matrix work;
  Vector y;
  const std::map<std::string, std::function<void()>> operations = {
      {"cholesky", [&] { galvi::cholesky(setting.context, work = matrix); }},
      {"invert_lower", [&] { galvi::invert_lower(setting.context, work = factor); }},
      {"invert_from_cholesky",
       [&] { galvi::invert_from_cholesky(setting.context, work = factor, factor.rows()); }},
      {"symmetric_product", [&] { y = galvi::symmetric_product(setting.context, matrix, x); }},
      {"squared_symmetric_product",
       [&] { y = galvi::squared_symmetric_product(setting.context, matrix, x); }},
      {"hadamard_symmetric_product",
       [&] { y = galvi::hadamard_symmetric_product(setting.context, matrix, factor, x); }}};
  const std::function<void()>& run = operations.at(what);
  const std::clock_t start = std::clock();
  for (int repeat = 0; repeat < repeats; ++repeat) run();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / repeats;
}
