#include "border/r_functions.h"

#include "border/list_access.h"

namespace galvi {
namespace {

// A function of the package wraps the user's functions, which are all that a fit keeps, in functions that
// check their results. An R error passes through unchanged, and destructors run.
Rcpp::List callbacks_of(const char* maker, const Rcpp::List& functions) {
  const Rcpp::Environment package = Rcpp::Environment::namespace_env("galvi");
  return Rcpp::Function(package.get(maker))(functions);
}

Vector vector_of(SEXP x) { return Eigen::Map<const Vector>(REAL(x), Rf_xlength(x)); }

class RDensity final : public DensityFunctions {
 public:
  explicit RDensity(const Rcpp::List& functions)
      : callbacks_(callbacks_of("density_callbacks", functions)),
        log_density_(field(callbacks_, "log_density")),
        check_(field(callbacks_, "check")),
        has_derivatives_(has(callbacks_, "derivatives")),
        derivatives_(field(callbacks_, has_derivatives_ ? "derivatives" : "log_density")),
        owner_(get<std::string>(callbacks_, "owner")),
        parameters_(get<std::vector<std::string>>(callbacks_, "parameters")),
        starts_(get<std::vector<double>>(callbacks_, "starts")),
        reference_(get_vector(callbacks_, "reference")) {}

  const std::string& owner() const override { return owner_; }
  const std::vector<std::string>& parameters() const override { return parameters_; }
  Index latents() const override { return static_cast<Index>(starts_.size()) + 1; }
  const std::vector<double>& starts() const override { return starts_; }
  Vector log_density(const Vector& y, const ConstMatrixRef& eta, const Vector& parameters) const override {
    const Rcpp::NumericVector out(log_density_(to_r(y), to_r(Matrix(eta)), to_r(parameters)));
    if (out.size() != y.size()) throw std::invalid_argument("a custom log density has another length than y");
    Vector l = vector_of(out);
    for (Index i = 0; i < l.size(); ++i)
      if (!(l[i] < infinity)) l[i] = -infinity;
    return l;
  }
  void check(double y, const Vector& eta, const Vector& parameters) const override {
    check_(y, to_r(Matrix(eta.transpose())), to_r(parameters));
  }
  bool has_derivatives() const override { return has_derivatives_; }
  Matrix derivatives(const Vector& y, const Vector& eta, const Vector& parameters) const override {
    const Rcpp::NumericMatrix out(derivatives_(to_r(y), to_r(eta), to_r(parameters)));
    if (out.nrow() != y.size() || out.ncol() != 2)
      throw std::invalid_argument("custom derivatives must be n x 2");
    return from_r(out);
  }
  const Vector& reference() const override { return reference_; }

 private:
  Rcpp::List callbacks_;
  Rcpp::Function log_density_, check_;
  bool has_derivatives_;
  Rcpp::Function derivatives_;
  std::string owner_;
  std::vector<std::string> parameters_;
  std::vector<double> starts_;
  Vector reference_;
};

class RCovariance final : public CovarianceFunctions {
 public:
  explicit RCovariance(const Rcpp::List& functions)
      : callbacks_(callbacks_of("covariance_callbacks", functions)),
        value_(field(callbacks_, "value")),
        has_gradient_(has(callbacks_, "gradient")),
        gradient_(field(callbacks_, has_gradient_ ? "gradient" : "value")),
        parameters_(get<std::vector<std::string>>(callbacks_, "parameters")) {}

  const std::vector<std::string>& parameters() const override { return parameters_; }
  Matrix value(const Matrix& X, const Matrix& Z, const Vector& parameters) const override {
    return shaped(value_(to_r(X), to_r(Z), to_r(parameters)), X, Z);
  }
  bool has_gradient() const override { return has_gradient_; }
  std::vector<Matrix> gradient(const Matrix& X, const Matrix& Z, const Vector& parameters) const override {
    std::vector<Matrix> out;
    for (const auto& part : Rcpp::List(gradient_(to_r(X), to_r(Z), to_r(parameters))))
      out.push_back(shaped(part, X, Z));
    if (out.size() != parameters_.size())
      throw std::invalid_argument("a custom gradient must have a matrix for each parameter");
    return out;
  }

 private:
  static Matrix shaped(SEXP x, const Matrix& X, const Matrix& Z) {
    const Rcpp::NumericMatrix out(x);
    if (out.nrow() != X.rows() || out.ncol() != Z.rows())
      throw std::invalid_argument("a custom kernel must be rows(x) x rows(z)");
    return from_r(out);
  }

  Rcpp::List callbacks_;
  Rcpp::Function value_;
  bool has_gradient_;
  Rcpp::Function gradient_;
  std::vector<std::string> parameters_;
};

}  // namespace

std::shared_ptr<const CovarianceFunctions> covariance_from_r(const Rcpp::List& functions) {
  return std::make_shared<RCovariance>(functions);
}

std::shared_ptr<const DensityFunctions> density_from_r(const Rcpp::List& functions) {
  return std::make_shared<RDensity>(functions);
}

}  // namespace galvi
