#include "border/r_functions.h"

#include "border/list_access.h"

namespace galvi {
namespace {

// The package's R function makes of what a fit keeps, which is the user's functions alone, functions that check
// what these return. An R error passes through as it is, and destructors run.
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
        has_derivatives_(has(callbacks_, "derivatives")),
        derivatives_(has_derivatives_ ? field(callbacks_, "derivatives") : field(callbacks_, "log_density")),
        parameters_(get<std::vector<std::string>>(callbacks_, "parameters")),
        reference_(get_vector(callbacks_, "reference")) {}

  const std::vector<std::string>& parameters() const override { return parameters_; }
  Vector log_density(const Vector& y, const Vector& eta, const Vector& parameters) const override {
    const Rcpp::NumericVector out(log_density_(to_r(y), to_r(eta), to_r(parameters)));
    if (out.size() != y.size()) throw std::invalid_argument("a custom log density has another length than y");
    return vector_of(out);
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
  Rcpp::Function log_density_;
  bool has_derivatives_;
  Rcpp::Function derivatives_;
  std::vector<std::string> parameters_;
  Vector reference_;
};

}  // namespace

std::shared_ptr<const DensityFunctions> density_from_r(const Rcpp::List& functions) {
  return std::make_shared<RDensity>(functions);
}

}  // namespace galvi
