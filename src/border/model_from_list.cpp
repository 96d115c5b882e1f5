#include "border/model_from_list.h"

#include <cmath>
#include <functional>

#include "border/list_access.h"
#include "border/prior_rows.h"
#include "border/r_functions.h"
#include "border/r_sources.h"
#include "global/contribution.h"
#include "likelihood/averaged.h"
#include "likelihood/mixed.h"
#include "prior/field_product.h"

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

Eigen::VectorXi groups_from_list(const Rcpp::List& list) {
  const auto group = get<Rcpp::IntegerVector>(list, "group");
  return Eigen::Map<const Eigen::VectorXi>(group.begin(), group.size());
}

NeighbourSpec neighbours_from_list(const Rcpp::List& list) {
  NeighbourSpec spec;
  spec.places = get_matrix(list, "places");
  if (has(list, "group")) spec.group = groups_from_list(list);
  spec.neighbours = position_matrix(list["neighbours"]);
  spec.between = get<bool>(list, "between");
  return spec;
}

KnotSpec knots_from_list(const Rcpp::List& list) {
  KnotSpec spec;
  spec.times = get_vector(list, "times");
  if (has(list, "kernels"))
    for (const auto& kernel : Rcpp::List(list["kernels"])) spec.kernels.push_back(kernel_from_list(kernel));
  spec.levels = get<int>(list, "levels");
  return spec;
}

// groups from 1, as in rows of data
CentreSpec centre_from_list(const Rcpp::List& list) {
  CentreSpec spec;
  spec.rows.inputs = get_matrix(list, "inputs");
  if (has(list, "group")) spec.rows.group = groups_from_list(list);
  spec.weight = get_vector(list, "weight");
  if (has(list, "level")) {
    spec.level = get_matrix(list, "level");
    spec.level_in = get<int>(list, "level_in") - 1;
  }
  return spec;
}

WavesSpec waves_from_list(const Rcpp::List& list) {
  return {get<int>(list, "groups"), get<double>(list, "origin")};
}

FactorsSpec factor_from_list(const Rcpp::List& list, int units) {
  FactorsSpec spec;
  spec.loadings = position_matrix(list["loadings"]);
  spec.effects = position_matrix(list["effects"]);
  spec.units = units;
  return spec;
}

PenaltySpec penalty_from_list(const Rcpp::List& list) {
  PenaltySpec spec;
  spec.hyper = positions(field(list, "hyper"));
  if (has(list, "diagonal")) spec.diagonal = get_matrix(list, "diagonal");
  if (has(list, "roots"))
    for (const auto& root : Rcpp::List(list["roots"])) spec.roots.push_back(from_r(Rcpp::NumericMatrix(root)));
  return spec;
}

// A field of the rows.
void read_rows(const Rcpp::List& model, const char* name, Vector& out) { out = get_vector(model, name); }
template <int Order>
void read_rows(const Rcpp::List& model, const char* name, Eigen::Matrix<double, -1, -1, Order>& out) {
  out = get_matrix(model, name);
}
void read_rows(const Rcpp::List& model, const char* name, Eigen::VectorXi& out) {
  const std::vector<Index> places = positions(model[name]);
  out = Eigen::Map<const Eigen::Matrix<Index, Eigen::Dynamic, 1>>(places.data(), places.size()).cast<int>();
}

}  // namespace

KernelSpec kernel_from_list(const Rcpp::List& list) {
  KernelSpec spec;
  spec.type = get<std::string>(list, "type");
  if (has(list, "columns")) spec.columns = positions(list["columns"]);
  spec.hyper = hyper_positions(list);
  spec.constants = constants(list);
  if (has(list, "functions")) spec.functions = covariance_from_r(list["functions"]);
  if (has(list, "parts"))
    for (const auto& part : Rcpp::List(list["parts"])) spec.parts.push_back(kernel_from_list(part));
  return spec;
}

FieldSpec field_from_list(const Rcpp::List& list) {
  if (has(list, "factors")) {
    const Rcpp::List factors = list["factors"];
    if (factors.size() != 2) throw std::invalid_argument("a product of fields has two factors");
    return form_product(field_from_list(factors[0]), field_from_list(factors[1]),
                        has(list, "order") ? positions(list["order"]) : std::vector<Index>());
  }
  FieldSpec spec;
  spec.model = get<std::string>(list, "model");
  for (const auto& part : Rcpp::List(field(list, "precision")))
    spec.precision.push_back(triplets_from_list(part));
  if (has(list, "constraints")) spec.constraints = triplets_from_list(list["constraints"]);
  if (has(list, "pins")) spec.pins = positions(list["pins"]);
  if (has(list, "basis")) spec.basis = get_matrix(list, "basis");
  spec.hyper = hyper_positions(list);
  if (has(list, "effects")) spec.effects = get<int>(list, "effects");
  if (has(list, "copies")) spec.copies = get<int>(list, "copies");
  if (has(list, "noise")) spec.noise = get<double>(list, "noise");
  return spec;
}

Data data_from_list(const Rcpp::List& model) {
  Data data;
  Data::for_fields([&](const std::string& name, auto& field) {
    if (!has(model, name.c_str())) return;
    read_rows(model, name.c_str(), field);
    if (field.rows() != data.y.size()) throw std::invalid_argument(name + " must have N rows");
  }, data);
  if (data.censoring.size() > 0) {
    if (data.censoring.cols() != 3) throw std::invalid_argument("censoring must be N x 3");
    data.y = data.censoring.col(0);
  }
  if (data.size.size() != data.y.size() || data.weight.size() != data.y.size())
    throw std::invalid_argument("size and weights must have N numbers");
  if (data.known.size() > 0 && data.known.cols() != 3) throw std::invalid_argument("known must be N x 3");
  return data;
}

LikelihoodSpec likelihood_from_list(const Rcpp::List& likelihood) {
  LikelihoodSpec out{get<std::string>(likelihood, "type"), hyper_positions(likelihood), constants(likelihood),
                     has(likelihood, "functions") ? density_from_r(likelihood["functions"]) : nullptr};
  if (has(likelihood, "parts"))
    for (const auto& part : Rcpp::List(likelihood["parts"])) out.parts.push_back(likelihood_from_list(part));
  out.truncated = has(likelihood, "truncated") && get<bool>(likelihood, "truncated");
  return out;
}

std::unique_ptr<Likelihood> likelihood_at(const Rcpp::List& likelihood, const Vector& hyper) {
  auto made = make_likelihood(likelihood_from_list(likelihood));
  made->update(hyper);
  return made;
}

std::unique_ptr<PriorDensity> prior_density_from_list(const Rcpp::List& prior) {
  const std::string quantity = has(prior, "quantity") ? get<std::string>(prior, "quantity") : "";
  return make_prior_density(
      {get<std::string>(prior, "type"), numbers(prior), quantity == "sd", quantity == "root"});
}

namespace {

HyperTable table_from_list(const Rcpp::List& model, bool proper) {
  const Rcpp::List table = get<Rcpp::List>(model, "hyper");
  const Vector value = get_vector(table, "value");
  for (const char* column : {"lower", "upper", "transform", "learned", "prior", "guessed", "term", "limited", "weak"})
    if (has(table, column) && Rf_xlength(field(table, column)) != value.size())
      throw std::invalid_argument("the columns of hyper must have the same length");
  std::vector<Hyperparameter> rows;
  if (value.size() > 0) {
    const Vector lower = get_vector(table, "lower"), upper = get_vector(table, "upper");
    const auto transform = get<std::vector<std::string>>(table, "transform");
    const auto learned = get<Rcpp::LogicalVector>(table, "learned");
    const Rcpp::List priors = get<Rcpp::List>(table, "prior");
    std::vector<std::string> term(value.size());
    std::vector<bool> guessed(value.size(), false);
    if (has(table, "guessed")) {
      term = get<std::vector<std::string>>(table, "term");
      const Vector guess = get_vector(table, "guessed");
      for (Index h = 0; h < value.size(); ++h) guessed[h] = guess[h] == value[h];  // users may have changed the value
    }
    std::vector<bool> limited(value.size(), false);
    if (has(table, "limited")) {
      const auto given = get<Rcpp::LogicalVector>(table, "limited");
      for (Index h = 0; h < value.size(); ++h) limited[h] = given[h] == TRUE;
    }
    std::vector<Index> owner(value.size(), -1);
    const LikelihoodSpec likelihood = likelihood_from_list(get<Rcpp::List>(model, "likelihood"));
    const std::vector<LikelihoodSpec> parts =
        likelihood.parts.empty() ? std::vector<LikelihoodSpec>{likelihood} : likelihood.parts;
    for (std::size_t part = 0; part < parts.size(); ++part)
      for (const auto& [name, at] : parts[part].hyper)
        for (const Index h : at) owner.at(h) = static_cast<Index>(part);
    const Rcpp::List weak = proper ? get<Rcpp::List>(table, "weak") : priors;
    for (Index h = 0; h < value.size(); ++h) {
      std::shared_ptr<const PriorDensity> prior;
      if (const SEXP own = Rf_isNull(priors[h]) ? SEXP(weak[h]) : SEXP(priors[h]); !Rf_isNull(own))
        prior = prior_density_from_list(own);
      rows.push_back({value[h], &find_transform(transform[h]), learned[h] == TRUE, lower[h], upper[h], prior,
                      owner[h], term[h], guessed[h], limited[h]});
    }
  }
  return HyperTable(std::move(rows));
}

}  // namespace

HyperTable hyper_from_list(const Rcpp::List& model) { return table_from_list(model, false); }

std::unique_ptr<HyperTable> proper_hyper_from_list(const Rcpp::List& model) {
  if (!has(get<Rcpp::List>(model, "hyper"), "weak")) return nullptr;
  return std::make_unique<HyperTable>(table_from_list(model, true));
}

namespace {

// A matrix of one column may come as a vector.
void read(SEXP from, Matrix& to) {
  const Rcpp::NumericVector x(from);
  const Index rows = Rf_isMatrix(from) ? Rf_nrows(from) : x.size();
  to = Eigen::Map<const Matrix>(x.begin(), rows, rows > 0 ? x.size() / rows : Rf_ncols(from));
}
void read(SEXP from, Vector& to) { to = from_r(Rcpp::NumericVector(from)); }
void read(SEXP from, Eigen::VectorXi& to) {
  const Rcpp::IntegerVector x(from);
  to = Eigen::Map<const Eigen::VectorXi>(x.begin(), x.size());
}
void read(SEXP from, Eigen::MatrixXi& to) { to = position_matrix(from); }

// Rejects values for which the likelihood has no density, whose results would be meaningless. `shares`:
// counts are points shared among nodes.
void check_responses(const Data& data, const Likelihood& likelihood, bool shares) {
  for (Index n = 0; n < data.y.size(); ++n) {
    const Likelihood& own = likelihood.mixed() ? likelihood.mixed()->part(data[n]) : likelihood;
    const Support support = own.support(data[n]);
    const double y = data.y[n];
    const bool any = !own.discrete() || (shares && own.takes_shares());
    if (y >= support.low && y <= support.high && (any || y == std::floor(y))) continue;
    throw std::range_error("the response in row " + std::to_string(n + 1) + " is " + std::to_string(y) +
                            ", which is impossible in this family: change `y`, or choose another `family`");
  }
}

// Positions in the table of hyperparameters, -1 for none, and of input columns; checked, because wrong ones
// would read arbitrary memory.
void check_positions(const TermSpec& spec, Index hypers) {
  const auto check = [&](Index at, Index lowest, Index size) {
    if (at < lowest || at >= size)
      throw std::invalid_argument("term " + spec.label + ": a position points outside of what is there");
  };
  const auto check_all = [&](const std::map<std::string, std::vector<Index>>& hyper) {
    for (const auto& [name, positions] : hyper)
      for (const Index at : positions) check(at, 0, hypers);
  };
  const std::function<void(const KernelSpec&, Index)> check_kernel = [&](const KernelSpec& kernel, Index inputs) {
    check_all(kernel.hyper);
    for (const Index column : kernel.columns) check(column, 0, inputs);
    for (const KernelSpec& part : kernel.parts) check_kernel(part, inputs);
  };
  for (const KernelSpec& kernel : spec.kernels) check_kernel(kernel, spec.inputs);
  for (const KernelSpec& kernel : spec.knots.kernels) check_kernel(kernel, 1);
  const std::function<void(const FieldSpec&)> check_field = [&](const FieldSpec& field) {
    check_all(field.hyper);
    for (const FieldSpec& factor : field.factors) check_field(factor);
  };
  check_field(spec.field);
  const auto check_matrix = [&](const Eigen::MatrixXi& positions, Index lowest) {
    for (Index i = 0; i < positions.size(); ++i) check(positions.data()[i], lowest, hypers);
  };
  check_matrix(spec.factors, -1);
  check_matrix(spec.inducing.coordinates, 0);
  check_matrix(spec.factor.loadings, 0);
  check_matrix(spec.factor.effects, 0);
  check_matrix(spec.loadings, 0);
  for (const PenaltySpec& penalty : spec.penalties)
    for (const Index at : penalty.hyper) check(at, 0, hypers);
}

std::unique_ptr<Term> term_from_list(const Context& context, const Rcpp::List& term, Index hypers) {
  TermSpec spec;
  spec.type = get<std::string>(term, "type");
  spec.label = get<std::string>(term, "label");
  if (has(term, "kernel")) spec.kernels = {kernel_from_list(term["kernel"])};
  if (has(term, "kernels"))
    for (const auto& kernel : Rcpp::List(term["kernels"])) spec.kernels.push_back(kernel_from_list(kernel));
  if (has(term, "input_count")) spec.inputs = get<int>(term, "input_count");
  if (has(term, "waves")) spec.waves = waves_from_list(term["waves"]);
  if (has(term, "mean")) spec.mean = get_vector(term, "mean");
  if (has(term, "factors")) spec.factors = position_matrix(term["factors"]);
  if (has(term, "field")) spec.field = field_from_list(term["field"]);
  if (has(term, "factor")) spec.factor = factor_from_list(term["factor"], get<int>(term, "units"));
  if (has(term, "centre")) spec.centre = centre_from_list(term["centre"]);
  if (has(term, "inducing")) spec.inducing = inducing_from_list(term["inducing"]);
  if (has(term, "neighbours")) spec.neighbours = neighbours_from_list(term["neighbours"]);
  if (has(term, "knots")) spec.knots = knots_from_list(term["knots"]);
  if (has(term, "loadings")) spec.loadings = position_matrix(term["loadings"]);
  if (has(term, "penalties"))
    for (const auto& penalty : Rcpp::List(term["penalties"])) spec.penalties.push_back(penalty_from_list(penalty));
  if (spec.factors.rows() != spec.mean.size())
    throw std::invalid_argument("term " + spec.label + ": mean and factors differ in length");
  auto made = make_term(spec, context.backend);
  check_positions(spec, hypers);
  return made;
}

}  // namespace

DesignRows design_from_list(const Rcpp::List& design) {
  DesignRows out;
  for (const auto& entry : design) {
    const Rcpp::List term = entry;
    TermRows rows;
    TermRows::for_parts(rows, [&](const char* name, auto& part) {
      if (has(term, name)) read(term[name], part);
    });
    out.terms.push_back(std::move(rows));
  }
  return out;
}

std::vector<std::shared_ptr<const DesignRows>> designs_from_list(const Rcpp::List& model) {
  std::vector<std::shared_ptr<const DesignRows>> out;
  const std::vector<PriorRow> priors = prior_rows_from_list(model);
  for (const auto& design : get<Rcpp::List>(model, "designs")) {
    DesignRows rows = design_from_list(design);
    if (!priors.empty()) rows = with_prior_rows(rows, priors, static_cast<Index>(out.size()));
    out.push_back(std::make_shared<const DesignRows>(std::move(rows)));
  }
  return out;
}

std::vector<PredictorSpec> predictors_from_list(const Context& context, const Rcpp::List& model) {
  std::vector<PredictorSpec> out;
  const Index hypers = Rf_length(field(get<Rcpp::List>(model, "hyper"), "value"));
  for (const auto& entry : get<Rcpp::List>(model, "predictors")) {
    const Rcpp::List predictor = entry;
    std::vector<std::unique_ptr<Term>> terms;
    for (const auto& term : get<Rcpp::List>(predictor, "terms"))
      terms.push_back(term_from_list(context, term, hypers));
    out.push_back({std::make_shared<Prior>(std::move(terms)), get<std::string>(predictor, "solver"),
                   get<int>(predictor, "design") - 1, positions(field(predictor, "latents"))});
  }
  return out;
}

std::unique_ptr<Expectation> expectation_from_list(const Rcpp::List& model, const Likelihood& likelihood,
                                                   const std::string& automatic) {
  ExpectationControl control;
  if (has(model, "pieces")) control.pieces = get<int>(model, "pieces");
  const auto wanted = get<std::string>(model, "expectation");
  return make_expectation(wanted == "auto" ? automatic : wanted, likelihood, control);
}

LatentPosterior latent_from_list(Context& context, const Prior& prior, const Rcpp::List& latent) {
  auto out = whitened_posterior(context, prior, get_vector(latent, "mean"), get_matrix(latent, "chol"));
  if (!out) throw std::invalid_argument("a covariance in q is not positive definite");
  return std::move(*out);
}

namespace {

/// `remembered`: list(model, hyper, latent, elbo) of a fit whose rows are no longer available.
std::shared_ptr<const Remembered> remembered_from_list(Context& context, const LatentGaussianModel& model,
                                                       const Rcpp::List& list) {
  const Vector hyper = get_vector(list, "hyper");
  const Rcpp::List latents = get<Rcpp::List>(list, "latent");
  GlobalPosterior q(model.latents());
  std::vector<std::shared_ptr<Prior>> old(model.latents());
  for (const PredictorSpec& spec : predictors_from_list(context, list["model"])) {
    spec.prior->update(hyper);
    for (const Index k : spec.latents) {
      old.at(k) = spec.prior;
      q.at(k) = latent_from_list(context, *spec.prior, Rcpp::List(latents).at(k));
    }
  }
  return std::make_shared<const Remembered>(remember(model, old, q, get<double>(list, "elbo")));
}

}  // namespace

LatentGaussianModel model_from_list(Context& context, const Rcpp::List& model, const std::string& automatic) {
  auto likelihood = make_likelihood(likelihood_from_list(get<Rcpp::List>(model, "likelihood")));
  RowBlock rows{data_from_list(model), get_matrix(model, "offset"), designs_from_list(model)};
  if (rows.data.counts.size() > 0 && rows.data.counts.cols() != likelihood->classes())
    throw std::invalid_argument("counts must be N x classes");
  check_responses(rows.data, *likelihood, has(model, "shares") && get<bool>(model, "shares"));
  const std::vector<PriorRow> priors = prior_rows_from_list(model);
  if (!priors.empty()) add_prior_rows(priors, rows, likelihood);
  auto expectation = expectation_from_list(model, *likelihood, automatic);
  if (has(model, "averaged") && get<bool>(model, "averaged")) {
    likelihood = std::make_unique<Averaged>(std::move(likelihood));
    rows.data.part = Eigen::VectorXi::LinSpaced(rows.size(), 0, static_cast<int>(rows.size()) - 1);
  }
  std::vector<Predictor> predictors(rows.offset.cols());
  for (const PredictorSpec& spec : predictors_from_list(context, model))
    for (const Index k : spec.latents)
      predictors.at(k) = {spec.prior, make_solver(spec.solver, context, spec.prior, rows.designs.at(spec.design)),
                          spec.design};
  LatentGaussianModel out(context, std::move(rows), std::move(likelihood), std::move(expectation),
                          std::move(predictors));
  out.set_prior_rows(static_cast<Index>(priors.size()));
  out.set_observations(out.rows() - out.prior_rows());
  if (const auto source = source_from_list(model)) {
    out.set_source(source);
    out.set_observations(source->rows());
  }
  if (has(model, "remembered")) {
    out.update(hyper_from_list(model).values());
    out.set_remembered(remembered_from_list(context, out, model["remembered"]));
  }
  return out;
}

InferenceControl inference_control(const Rcpp::List& control) {
  InferenceControl out;
  out.tol = get<double>(control, "tol");
  out.max_iterations = get<int>(control, "max_iterations");
  out.cold = has(control, "cold") && get<bool>(control, "cold");
  out.one_start = has(control, "one_start") && get<bool>(control, "one_start");
  if (has(control, "step_rule")) out.stochastic.rule = step_rule_from(get<std::string>(control, "step_rule"));
  if (has(control, "batch_rows") && Rf_isNumeric(control["batch_rows"]))
    out.stochastic.batch_rows = static_cast<Index>(get<double>(control, "batch_rows"));
  if (has(control, "passes")) out.stochastic.passes = get<double>(control, "passes");
  if (has(control, "step_size") && Rf_isNumeric(control["step_size"]))
    out.stochastic.step_size = get<double>(control, "step_size");
  return out;
}

HyperControl hyper_control(const Rcpp::List& control) {
  HyperControl out;
  out.tol = get<double>(control, "hyper_tol");
  out.max_iterations = get<int>(control, "hyper_iterations");
  out.freeze = get<int>(control, "freeze");
  out.joint = get<bool>(control, "joint");
  out.method = &find_hyper_method(get<std::string>(control, "hyper_method"));
  return out;
}

}  // namespace galvi
