// The numeric layer.
#include <Rcpp/Lightest>

#include <cmath>
#include <ctime>
#include <functional>
#include <map>

#include "function/elementwise.h"
#include "numeric/backend_eigen.h"
#include "numeric/dense.h"
#include "numeric/parallel.h"
#include "setting.h"

using namespace galvi;

namespace {

// The package's backends, and "narrow": Eigen's as it is on a processor without wide registers.
Backend& backend_named(const std::string& name) {
  static EigenBackend narrow(false);
  return name == "narrow" ? narrow : backend(name);
}

Rcpp::List with_cost(const Matrix& value, const Setting& setting) {
  const Cost& cost = setting.context.cost;
  return Rcpp::List::create(Rcpp::Named("value") = to_r(value), Rcpp::Named("flops") = cost.flops,
                            Rcpp::Named("factorisations") = cost.factorisations,
                            Rcpp::Named("products") = cost.products,
                            Rcpp::Named("polls") = setting.monitor.polls);
}

}  // namespace

// NULL where the factorisation fails. `positive` < 0: all of A.
// [[Rcpp::export(rng = false)]]
Rcpp::RObject probe_cholesky(Rcpp::NumericMatrix A, std::string backend, int positive = -1, int stop_at = -1,
                             int threads = 1) {
  Setting setting(backend_named(backend), threads, stop_at);
  Matrix L = from_r(A);
  const bool done =
      positive < 0 ? cholesky(setting.context, L) : signed_cholesky(setting.context, L, positive);
  if (!done) return R_NilValue;
  return with_cost(L, setting);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List probe_cholesky_with_jitter(Rcpp::NumericMatrix A, std::string backend) {
  Setting setting(backend_named(backend));
  Matrix L = from_r(A);
  const double jitter = cholesky_with_jitter(setting.context, L);
  Rcpp::List result = with_cost(L, setting);
  result["jitter"] = jitter;
  return result;
}

// what: "factor" for L^-1, "matrix" for the lower triangle of (L J L')^-1.
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_invert(Rcpp::NumericMatrix L, std::string what, std::string backend, int positive = -1,
                        int threads = 1) {
  Setting setting(backend_named(backend), threads);
  Matrix result = from_r(L);
  if (what == "factor") {
    invert_lower(setting.context, result);
  } else {
    invert_from_cholesky(setting.context, result, positive < 0 ? result.rows() : positive);
  }
  return with_cost(result, setting);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List probe_solve(Rcpp::NumericMatrix L, Rcpp::NumericMatrix B, bool transposed, std::string backend) {
  Setting setting(backend_named(backend));
  const Matrix factor = from_r(L);
  Matrix result = from_r(B);
  if (transposed) {
    solve_lower_transposed(setting.context, factor, result);
  } else {
    solve_lower(setting.context, factor, result);
  }
  return with_cost(result, setting);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List probe_multiply(bool transpose_a, bool transpose_b, double alpha, Rcpp::NumericMatrix A,
                          Rcpp::NumericMatrix B, double beta, Rcpp::NumericMatrix C, std::string backend) {
  Setting setting(backend_named(backend));
  Matrix result = from_r(C);
  multiply(setting.context, transpose_a, transpose_b, alpha, from_r(A), from_r(B), beta, result);
  return with_cost(result, setting);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List probe_add_crossproduct(double alpha, Rcpp::NumericMatrix A, double beta, Rcpp::NumericMatrix C,
                                  std::string backend) {
  Setting setting(backend_named(backend));
  Matrix result = from_r(C);
  add_crossproduct(setting.context, alpha, from_r(A), beta, result);
  return with_cost(result, setting);
}

// The backend's own B <- alpha op(L) B or alpha B op(L).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_triangular_multiply(bool left, bool transpose, double alpha, Rcpp::NumericMatrix L,
                                              Rcpp::NumericMatrix B, std::string backend) {
  Matrix result = from_r(B);
  backend_named(backend).triangular_multiply(left, transpose, alpha, from_r(L), result);
  return to_r(result);
}

// what: "plain" A x, "squared" (A o A) x, "hadamard" (A o B) x.
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_symmetric_product(std::string what, Rcpp::NumericMatrix A, Rcpp::NumericMatrix B,
                                   Rcpp::NumericVector x, int threads = 1) {
  Setting setting("eigen", threads);
  const Matrix a = from_r(A), b = from_r(B);
  const Vector v = from_r(x);
  if (what == "plain") return with_cost(symmetric_product(setting.context, a, v), setting);
  if (what == "squared") return with_cost(squared_symmetric_product(setting.context, a, v), setting);
  return with_cost(hadamard_symmetric_product(setting.context, a, b, v), setting);
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_fill_upper(Rcpp::NumericMatrix A) {
  Matrix result = from_r(A);
  fill_upper(result);
  return to_r(result);
}

// Block b sums sin(i) over its own stretch of i; blocks in `failing` throw, naming themselves (from 0).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_parallel(int blocks, int threads, Rcpp::IntegerVector failing, int stop_at = -1,
                                   bool nested = false) {
  Setting setting("eigen", threads, stop_at);
  const std::vector<int> fails = Rcpp::as<std::vector<int>>(failing);
  Vector sums = Vector::Zero(blocks);
  parallel_for(setting.context, blocks, 1e9, [&](Index block) {
    for (int fail : fails) {
      if (fail == block) throw std::runtime_error("block " + std::to_string(block));
    }
    const auto work = [&](Index repeat) {
      for (int i = 0; i < 1000; ++i) sums[block] += std::sin(static_cast<double>(1000 * block + i + repeat));
    };
    if (nested) {
      parallel_for(setting.context, 3, 1e9, work);
    } else {
      work(0);
    }
  });
  return to_r(sums);
}

// CPU seconds that one operation takes, averaged over `repeats` runs in a row; A is positive definite and L
// its lower Cholesky factor. For bench/, where R's own functions are timed beside it.
// [[Rcpp::export(rng = false)]]
double probe_dense_seconds(std::string what, Rcpp::NumericMatrix A, Rcpp::NumericMatrix L,
                           std::string backend, int repeats) {
  Setting setting(backend_named(backend));
  const Matrix matrix = from_r(A), factor = from_r(L);
  const Vector x = Vector::LinSpaced(matrix.rows(), -1.0, 1.0);
  Matrix work;
  Vector y;
  const std::map<std::string, std::function<void()>> operations = {
      {"cholesky", [&] { cholesky(setting.context, work = matrix); }},
      {"invert_lower", [&] { invert_lower(setting.context, work = factor); }},
      {"invert_from_cholesky", [&] { invert_from_cholesky(setting.context, work = factor, factor.rows()); }},
      {"symmetric_product", [&] { y = symmetric_product(setting.context, matrix, x); }},
      {"squared_symmetric_product", [&] { y = squared_symmetric_product(setting.context, matrix, x); }},
      {"hadamard_symmetric_product",
       [&] { y = hadamard_symmetric_product(setting.context, matrix, factor, x); }}};
  const std::function<void()>& run = operations.at(what);
  const std::clock_t start = std::clock();
  for (int repeat = 0; repeat < repeats; ++repeat) run();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / repeats;
}

// Functions of every element, with the processor's widest registers or the portable code. y: of log_rising alone
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_elementwise(std::string name, Rcpp::NumericVector x, Rcpp::NumericVector y, bool portable) {
  const Eigen::ArrayXd argument = from_r(x).array(), counts = from_r(y).array();
  Eigen::ArrayXd out = argument;
  using InPlace = void (*)(ArrayRef);
  const std::map<std::string, std::pair<InPlace, InPlace>> functions = {
      {"exp", {exp_each, portable::exp_each}},
      {"log", {log_each, portable::log_each}},
      {"log1p", {log1p_each, portable::log1p_each}},
      {"log1p_exp", {log1p_exp_each, portable::log1p_exp_each}},
      {"log_one_minus_exp", {log_one_minus_exp_each, log_one_minus_exp_each}},
      {"log_normal_cdf", {log_normal_cdf_each, portable::log_normal_cdf_each}}};
  if (name == "log_rising")
    (portable ? portable::log_rising_each : log_rising_each)(counts, argument, out);
  else if (name == "stirling_error")
    (portable ? portable::stirling_error_each : stirling_error_each)(argument, out);
  else
    (portable ? functions.at(name).second : functions.at(name).first)(out);
  return to_r(Vector(out));
}
