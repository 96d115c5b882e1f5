#include "border/prior_rows.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "border/list_access.h"
#include "likelihood/mixed.h"

namespace galvi {

namespace {

template <class T>
T with_rows(const T& x, Index more, const std::function<void(Index, T&)>& fill) {
  if (x.rows() == 0) return x;
  T out(x.rows() + more, x.cols());
  out.topRows(x.rows()) = x;
  for (Index i = 0; i < more; ++i) {
    out.row(x.rows() + i) = x.row(0);
    fill(x.rows() + i, out);
  }
  return out;
}

/// The rows of a term with more at the end, at which a process or an effect is zero; only where `silent` is false is
/// the first row repeated.
TermRows with_prior_rows(TermRows rows, Index more, const std::function<bool(Index)>& silent) {
  const Index n = rows.size();
  const auto copy = [](Index, auto&) {};
  const auto zero = [&](Index at, auto& x) {
    if (silent(at - n)) x.row(at).setZero();
  };
  TermRows out;
  out.kernel.inputs = with_rows<Matrix>(rows.kernel.inputs, more, copy);
  out.kernel.group = with_rows<Eigen::VectorXi>(rows.kernel.group, more, copy);
  if (rows.kernel.inputs.rows() > 0) {
    if (rows.kernel.by.size() == 0) rows.kernel.by = Vector::Ones(n);
    out.kernel.by = with_rows<Vector>(rows.kernel.by, more, zero);
    if (out.kernel.by == Vector::Ones(n + more)) out.kernel.by.resize(0);
  }
  out.W = with_rows<Matrix>(rows.W, more, zero);
  out.node = with_rows<Eigen::MatrixXi>(rows.node, more, [&](Index at, Eigen::MatrixXi& x) {
    if (silent(at - n)) x.row(at).setConstant(-1);
  });
  out.weight = with_rows<Matrix>(rows.weight, more, copy);
  out.item = with_rows<Eigen::MatrixXi>(rows.item, more, copy);
  return out;
}

}  // namespace

std::vector<PriorRow> prior_rows_from_list(const Rcpp::List& model) {
  std::vector<PriorRow> out;
  if (!has(model, "prior_rows")) return out;
  for (const auto& entry : Rcpp::List(model["prior_rows"])) {
    const Rcpp::List row = entry;
    out.push_back({get<int>(row, "latent") - 1, get<int>(row, "design") - 1, get<int>(row, "term") - 1,
                   get_vector(row, "W"), coefficient_prior_from_list(row)});
  }
  return out;
}

CoefficientPriorSpec coefficient_prior_from_list(const Rcpp::List& row) {
  CoefficientPriorSpec out{get<std::string>(row, "type"), get<double>(row, "location")};
  if (has(row, "scale")) out.scale = get<double>(row, "scale");
  if (has(row, "df")) out.df = get<double>(row, "df");
  out.base_sd = get<double>(row, "base_sd");
  out.parameters.type = out.type;
  if (!has(row, "hyper")) return out;
  const Rcpp::List hyper = row["hyper"];
  for (const char* name : {"global", "slab"})
    if (has(hyper, name)) out.parameters.hyper[name] = positions(hyper[name]);
  return out;
}

DesignRows with_prior_rows(const DesignRows& design, const std::vector<PriorRow>& priors, Index number) {
  DesignRows out;
  const Index more = static_cast<Index>(priors.size()), n = design.size();
  const auto silent = [&](Index i) { return priors[i].design == number; };
  for (const TermRows& rows : design.terms) out.terms.push_back(with_prior_rows(rows, more, silent));
  for (Index i = 0; i < more; ++i) {
    if (!silent(i)) continue;
    Matrix& W = out.terms.at(priors[i].term).W;
    if (W.rows() != n + more) throw std::invalid_argument("heavy-tailed priors need all rows in memory");
    if (W.cols() != priors[i].W.size())
      throw std::invalid_argument("the prior of a coefficient has another number of columns than its term");
    W.row(n + i) = priors[i].W.transpose();
  }
  return out;
}

void add_prior_rows(const std::vector<PriorRow>& priors, RowBlock& rows, std::unique_ptr<Likelihood>& likelihood) {
  const Index n = rows.data.y.size(), more = static_cast<Index>(priors.size());
  // coefficients of the same prior share it, and so its tables
  std::vector<const PriorRow*> kinds;
  std::vector<int> part;
  for (const PriorRow& prior : priors) {
    const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const PriorRow* kind) {
      return kind->latent == prior.latent && kind->spec == prior.spec;
    });
    part.push_back(static_cast<int>(found - kinds.begin()) + 1);
    if (found == kinds.end()) kinds.push_back(&prior);
  }
  Data& data = rows.data;
  data.part = Eigen::VectorXi::Zero(n);
  data.y = with_rows<Vector>(data.y, more, [&](Index at, Vector& y) { y[at] = priors[at - n].spec.location; });
  data.size = with_rows<Vector>(data.size, more, [](Index at, Vector& x) { x[at] = 1; });
  data.weight = with_rows<Vector>(data.weight, more, [](Index at, Vector& x) { x[at] = 1; });
  data.part =
      with_rows<Eigen::VectorXi>(data.part, more, [&](Index at, Eigen::VectorXi& x) { x[at] = part[at - n]; });
  data.censoring = with_rows<Matrix>(data.censoring, more, [&](Index at, Matrix& x) {
    x(at, 0) = x(at, 1) = data.y[at];
    x(at, 2) = -infinity;
  });
  rows.offset = with_rows<Matrix>(rows.offset, more, [](Index at, Matrix& x) { x.row(at).setZero(); });
  std::vector<std::unique_ptr<Likelihood>> parts;
  std::vector<Index> latent;
  for (const PriorRow* kind : kinds) {
    parts.push_back(make_coefficient_prior(kind->spec));
    latent.push_back(kind->latent);
  }
  likelihood = std::make_unique<Mixed>(std::move(likelihood), std::move(parts), std::move(latent));
}

Index prior_rows(const Rcpp::List& model) {
  return has(model, "prior_rows") ? static_cast<Index>(Rf_length(model["prior_rows"])) : 0;
}

Matrix site_numbers(const Rcpp::List& list, const char* name) {
  const Matrix own = get_matrix(list, name);
  if (!has(list, "prior_rows")) return own;
  const Matrix more = get_matrix(Rcpp::List(list["prior_rows"]), name);
  if (more.cols() != own.cols()) throw std::invalid_argument("sites of priors have other latent values");
  Matrix out(own.rows() + more.rows(), own.cols());
  out << own, more;
  return out;
}

Sites sites_from_list(const Rcpp::List& list) { return {site_numbers(list, "lambda"), site_numbers(list, "b")}; }

bool complete(const Sites& sites, const LatentGaussianModel& model) {
  const auto has_all = [&](const Matrix& x) { return x.rows() == model.rows() && x.cols() == model.latents(); };
  return has_all(sites.lambda) && has_all(sites.b);
}

}  // namespace galvi
