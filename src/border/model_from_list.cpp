#include "border/model_from_list.h"

#include "border/list_access.h"
#include "expectation/averaged.h"

namespace galvi {

namespace {

std::map<std::string, std::vector<Index>> hyper_positions(const Rcpp::List& list) {
  std::map<std::string, std::vector<Index>> out;
  if (!has(list, "hyper")) return out;
  const Rcpp::List hyper = list["hyper"];
  if (hyper.size() == 0) return out;
  const Rcpp::CharacterVector names = hyper.names();
  for (R_xlen_t i = 0; i < hyper.size(); ++i) out[Rcpp::as<std::string>(names[i])] = positions(hyper[i]);
  return out;
}

std::map<std::string, double> numbers(const Rcpp::List& list) {
  std::map<std::string, double> out;
  if (list.size() == 0) return out;
  const Rcpp::CharacterVector names = list.names();
  for (R_xlen_t i = 0; i < list.size(); ++i)
    if (Rf_isNumeric(list[i]) && Rf_length(list[i]) == 1)
      out[Rcpp::as<std::string>(names[i])] = Rcpp::as<double>(list[i]);
  return out;
}

std::map<std::string, double> constants(const Rcpp::List& list) {
  return has(list, "constants") ? numbers(list["constants"]) : std::map<std::string, double>{};
}

KernelSpec kernel_from_list(const Rcpp::List& list) {
  KernelSpec spec;
  spec.type = get<std::string>(list, "type");
  if (has(list, "columns")) spec.columns = positions(list["columns"]);
  spec.hyper = hyper_positions(list);
  spec.constants = constants(list);
  if (has(list, "parts"))
    for (const auto& part : Rcpp::List(list["parts"])) spec.parts.push_back(kernel_from_list(part));
  return spec;
}

// 1-based positions from R, 0-based here; 0 ("none") becomes -1.
Eigen::MatrixXi position_matrix(const Rcpp::IntegerMatrix& x) {
  return Eigen::Map<const Eigen::MatrixXi>(x.begin(), x.nrow(), x.ncol()).array() - 1;
}

Triplets triplets_from_list(const Rcpp::List& list) {
  Triplets out;
  out.rows = get<int>(list, "rows");
  out.columns = get<int>(list, "columns");
  const auto i = positions(field(list, "i")), j = positions(field(list, "j"));
  const Vector x = get_vector(list, "x");
  if (i.size() != j.size() || static_cast<Index>(i.size()) != x.size())
    throw std::invalid_argument("a sparse matrix has i, j and x of different lengths");
  for (std::size_t e = 0; e < i.size(); ++e) {
    if (i[e] < 0 || j[e] < 0 || i[e] >= out.rows || j[e] >= out.columns)
      throw std::invalid_argument("a sparse matrix has an entry outside of it");
    out.entries.emplace_back(i[e], j[e], x[e]);
  }
  return out;
}

InducingSpec inducing_from_list(const Rcpp::List& list) {
  InducingSpec spec;
  spec.coordinates = position_matrix(list["coordinates"]);
  spec.centre = get_vector(list, "centre");
  spec.scale = get_vector(list, "scale");
  spec.groups = get<int>(list, "groups");
  spec.jitter = get<double>(list, "jitter");
  return spec;
}

}  // namespace

FieldSpec field_from_list(const Rcpp::List& list) {
  FieldSpec spec;
  spec.model = get<std::string>(list, "model");
  for (const auto& part : Rcpp::List(field(list, "precision")))
    spec.precision.push_back(triplets_from_list(part));
  if (has(list, "constraints")) spec.constraints = triplets_from_list(list["constraints"]);
  if (has(list, "pins")) spec.pins = positions(list["pins"]);
  if (has(list, "basis")) spec.basis = get_matrix(list, "basis");
  spec.hyper = hyper_positions(list);
  return spec;
}

Data data_from_list(const Rcpp::List& model) {
  return {get_vector(model, "y"), get_vector(model, "size"), get_vector(model, "weights"), Vector()};
}

LikelihoodSpec likelihood_from_list(const Rcpp::List& likelihood) {
  return {get<std::string>(likelihood, "type"), hyper_positions(likelihood), constants(likelihood)};
}

HyperTable hyper_from_list(const Rcpp::List& model) {
  const Rcpp::List table = get<Rcpp::List>(model, "hyper");
  const Vector value = get_vector(table, "value");
  std::vector<Hyperparameter> rows;
  if (value.size() > 0) {
    const Vector lower = get_vector(table, "lower"), upper = get_vector(table, "upper");
    const auto transform = get<std::vector<std::string>>(table, "transform");
    const auto learned = get<Rcpp::LogicalVector>(table, "learned");
    const Rcpp::List priors = get<Rcpp::List>(table, "prior");
    for (Index h = 0; h < value.size(); ++h) {
      std::shared_ptr<const PriorDensity> prior;
      if (!Rf_isNull(priors[h])) {
        const Rcpp::List p = priors[h];
        prior = make_prior_density({get<std::string>(p, "type"), numbers(p),
                                    has(p, "quantity") && get<std::string>(p, "quantity") == "sd"});
      }
      rows.push_back({value[h], transform_from(transform[h]), learned[h] == TRUE, lower[h], upper[h], prior});
    }
  }
  return HyperTable(std::move(rows));
}

TermRows rows_from_list(const Rcpp::List& term) {
  TermRows rows;
  if (has(term, "W")) rows.W = get_matrix(term, "W");
  if (has(term, "inputs")) rows.kernel.inputs = get_matrix(term, "inputs");
  if (has(term, "by")) rows.kernel.by = get_vector(term, "by");
  if (has(term, "group")) {
    const Rcpp::IntegerVector group = term["group"];
    rows.kernel.group = Eigen::Map<const Eigen::VectorXi>(group.begin(), group.size());
  }
  if (has(term, "node")) rows.node = position_matrix(term["node"]);
  if (has(term, "weight")) rows.weight = get_vector(term, "weight");
  return rows;
}

Terms terms_from_list(const Context& context, const Rcpp::List& model, Index latent) {
  const Rcpp::List priors = get<Rcpp::List>(model, "priors");
  if (priors.size() == 0) throw std::invalid_argument("the model has no prior");
  const Rcpp::List prior = priors[std::min<R_xlen_t>(latent, priors.size() - 1)];
  Terms out;
  for (const auto& entry : Rcpp::List(field(prior, "terms"))) {
    const Rcpp::List term = entry;
    TermSpec spec;
    spec.type = get<std::string>(term, "type");
    spec.label = get<std::string>(term, "label");
    spec.rows = rows_from_list(term);
    if (has(term, "kernel")) spec.kernel = kernel_from_list(term["kernel"]);
    if (has(term, "mean")) spec.mean = get_vector(term, "mean");
    if (has(term, "factors")) spec.factors = position_matrix(term["factors"]);
    if (has(term, "field")) spec.field = field_from_list(term["field"]);
    if (has(term, "inducing")) spec.inducing = inducing_from_list(term["inducing"]);
    if (spec.type == "columns" &&
        (spec.rows.W.cols() != spec.mean.size() || spec.factors.rows() != spec.mean.size()))
      throw std::invalid_argument("term " + spec.label + ": W, mean and factors differ in size");
    out.push_back(make_term(spec, context.backend));
  }
  return out;
}

LatentGaussianModel model_from_list(Context& context, const Rcpp::List& model, const std::string& automatic) {
  auto likelihood = make_likelihood(likelihood_from_list(get<Rcpp::List>(model, "likelihood")));
  ExpectationControl control;
  if (has(model, "pieces")) control.pieces = get<int>(model, "pieces");
  const auto wanted = get<std::string>(model, "expectation");
  auto expectation = make_expectation(wanted == "auto" ? automatic : wanted, *likelihood, control);
  const bool averaged = has(model, "averaged") && get<bool>(model, "averaged");
  if (averaged) likelihood = std::make_unique<Averaged>(std::move(likelihood));
  Matrix offset = get_matrix(model, "offset");
  std::vector<std::unique_ptr<Solver>> solvers;
  for (Index k = 0; k < offset.cols(); ++k)
    solvers.push_back(make_solver(get<std::string>(model, "solver"), context,
                                  terms_from_list(context, model, k), offset.rows()));
  return {context,
          data_from_list(model),
          std::move(likelihood),
          std::move(expectation),
          std::move(solvers),
          std::move(offset),
          averaged};
}

InferenceControl inference_control(const Rcpp::List& control) {
  InferenceControl out;
  out.tol = get<double>(control, "tol");
  out.max_iterations = get<int>(control, "max_iterations");
  out.cold = has(control, "cold") && get<bool>(control, "cold");
  return out;
}

HyperControl hyper_control(const Rcpp::List& control) {
  HyperControl out;
  out.tol = get<double>(control, "hyper_tol");
  out.max_iterations = get<int>(control, "hyper_iterations");
  out.freeze = get<int>(control, "freeze");
  out.joint = get<bool>(control, "joint");
  out.newton = get<std::string>(control, "hyper_method") == "newton";
  return out;
}

}  // namespace galvi
