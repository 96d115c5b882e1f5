// The border: what the core's registries have, as R reads it. R asks what a thing can, never for its name.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "expectation/expectation.h"
#include "numeric/backend.h"
#include "prior/field.h"

namespace {

using namespace galvi;

/// A data frame with a row for each of `rows`, filled column by column.
template <class Row>
class Table {
 public:
  explicit Table(const std::vector<Row>& rows) : rows_(rows) {}
  /// `get`: what a row has in this column.
  template <class Get>
  Table& column(const char* name, const Get& get) {
    using Value = std::decay_t<decltype(get(rows_.front()))>;
    std::vector<Value> values;
    for (const Row& row : rows_) values.push_back(get(row));
    columns_.push_back(Rcpp::wrap(values), name);
    return *this;
  }
  Rcpp::List frame() const {
    Rcpp::List out = columns_;
    out.attr("class") = "data.frame";
    out.attr("row.names") = Rcpp::IntegerVector::create(NA_INTEGER, -static_cast<int>(rows_.size()));
    return out;
  }

 private:
  const std::vector<Row>& rows_;
  Rcpp::List columns_;
};

std::string word(Evidence evidence) {
  switch (evidence) {
    case Evidence::bound:
      return "bound";
    case Evidence::exact:
      return "exact";
    case Evidence::approximation:
      break;
  }
  return "approximation";
}

std::string word(Averaging averaging) {
  switch (averaging) {
    case Averaging::none:
      return "none";
    case Averaging::itself:
      return "itself";
    case Averaging::likelihood:
      break;
  }
  return "likelihood";
}

std::string word(KernelParameter::Role role) {
  switch (role) {
    case KernelParameter::Role::variance:
      return "variance";
    case KernelParameter::Role::lengthscale:
      return "lengthscale";
    case KernelParameter::Role::period:
      return "period";
    case KernelParameter::Role::shape:
      break;
  }
  return "shape";
}

std::string word(KernelFacts::Features features) {
  switch (features) {
    case KernelFacts::Features::none:
      return "none";
    case KernelFacts::Features::constant:
      return "constant";
    case KernelFacts::Features::inputs:
      break;
  }
  return "inputs";
}

std::string word(KernelFacts::Lines lines) {
  switch (lines) {
    case KernelFacts::Lines::none:
      return "none";
    case KernelFacts::Lines::one:
      return "one";
    case KernelFacts::Lines::series:
      break;
  }
  return "series";
}

Rcpp::List kernel_to_r(const KernelFacts& facts) {
  Table<KernelParameter> parameters(facts.parameters);
  parameters.column("name", [](const auto& p) { return p.name; })
      .column("role", [](const auto& p) { return word(p.role); })
      .column("lower", [](const auto& p) { return p.lower; })
      .column("upper", [](const auto& p) { return p.upper; })
      .column("per_column", [](const auto& p) -> bool { return p.per_column; });
  return Rcpp::List::create(Rcpp::_["parameters"] = parameters.frame(),
                            Rcpp::_["constants"] = facts.constants,
                            Rcpp::_["features"] = word(facts.features),
                            Rcpp::_["acts_on_columns"] = facts.acts_on_columns,
                            Rcpp::_["one_input"] = facts.one_input, Rcpp::_["states"] = facts.states,
                            Rcpp::_["lines"] = word(facts.lines), Rcpp::_["origin"] = facts.origin,
                            Rcpp::_["metric"] = facts.metric, Rcpp::_["operation"] = facts.operation);
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List likelihood_facts() {
  const auto rows = galvi::likelihood_facts();
  return Table<LikelihoodFacts>(rows)
      .column("type", [](const auto& l) { return l.type; })
      .column("log_concave", [](const auto& l) { return l.log_concave; })
      .column("conjugate", [](const auto& l) { return l.conjugate; })
      .column("closed_form", [](const auto& l) { return l.closed_form; })
      .column("discrete", [](const auto& l) { return l.discrete; })
      .column("separable", [](const auto& l) { return l.separable; })
      .column("divides_dispersion", [](const auto& l) { return l.divides_dispersion; })
      .column("latents", [](const auto& l) { return static_cast<int>(l.latents); })
      .column("classes", [](const auto& l) { return static_cast<int>(l.classes); })
      .column("truncated", [](const auto& l) { return l.truncation != galvi::Truncation::refused; })
      .column("truncated_concave", [](const auto& l) { return l.truncation == galvi::Truncation::concave; })
      .frame();
}

// [[Rcpp::export(rng = false)]]
Rcpp::List expectation_facts() {
  const auto rows = galvi::expectation_facts();
  return Table<ExpectationFacts>(rows)
      .column("name", [](const auto& e) { return e.name; })
      .column("exact", [](const auto& e) { return e.exact; })
      .column("is_bound", [](const auto& e) { return e.is_bound; })
      .frame();
}

// [[Rcpp::export(rng = false)]]
Rcpp::List inference_facts() {
  return Table<Algorithm>(algorithms())
      .column("name", [](const auto& a) { return a.name; })
      .column("description", [](const auto& a) { return a.description; })
      .column("evidence", [](const auto& a) { return word(a.facts.evidence); })
      .column("averaging", [](const auto& a) { return word(a.facts.averaging); })
      .column("dual_value", [](const auto& a) { return a.facts.dual_value; })
      .column("squares", [](const auto& a) { return a.facts.squares; })
      .column("sums", [](const auto& a) { return a.kinds.sums != nullptr; })
      .column("learns", [](const auto& a) { return a.learn != nullptr; })
      .frame();
}

// [[Rcpp::export(rng = false)]]
Rcpp::List solver_facts() {
  const auto rows = galvi::solver_facts();
  return Table<SolverFacts>(rows)
      .column("name", [](const auto& s) { return s.name; })
      .column("full", [](const auto& s) { return s.full; })
      .column("sums", [](const auto& s) { return s.sums; })
      .frame();
}

//' The solver of a prior with terms of these types
//' @noRd
// [[Rcpp::export(rng = false)]]
std::string choose_solver(std::vector<std::string> term_types) { return galvi::choose_solver(term_types); }

// [[Rcpp::export(rng = false)]]
Rcpp::List term_facts() {
  const auto rows = galvi::term_facts();
  return Table<TermFacts>(rows)
      .column("type", [](const auto& t) { return t.type; })
      .column("full", [](const auto& t) { return t.full; })
      .column("chain", [](const auto& t) { return t.chain; })
      .column("fields", [](const auto& t) { return t.fields; })
      .column("units", [](const auto& t) { return t.units; })
      .frame();
}

//' By type: parameters (a data frame), constants, features, acts_on_columns, one_input, states,
//' metric, operation
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List kernel_facts() {
  Rcpp::List out;
  for (const auto& [type, facts] : galvi::kernel_facts()) out.push_back(kernel_to_r(facts), type);
  return out;
}

//' By model: a data frame with a row for each hyperparameter
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List field_facts() {
  Rcpp::List out;
  for (const auto& [model, parameters] : galvi::field_facts())
    out.push_back(Table<FieldParameter>(parameters)
                      .column("name", [](const auto& p) { return p.name; })
                      .column("transform", [](const auto& p) { return p.transform; })
                      .column("lower", [](const auto& p) { return p.lower; })
                      .column("upper", [](const auto& p) { return p.upper; })
                      .column("relative", [](const auto& p) { return p.relative; })
                      .column("limited", [](const auto& p) { return p.limited; })
                      .frame(),
                  model);
  return out;
}

// [[Rcpp::export(rng = false)]]
Rcpp::List transform_facts() {
  return Table<Transform>(transforms())
      .column("name", [](const auto& t) { return t.name; })
      .column("lower", [](const auto& t) { return t.lower; })
      .column("upper", [](const auto& t) { return t.upper; })
      .column("relative", [](const auto& t) -> bool { return t.relative(); })
      .frame();
}

//' What transforms act on: values, or what they are relative to those before; NaN where these do not go together
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector transform_arguments(std::vector<std::string> transforms, Rcpp::NumericVector values) {
  if (static_cast<R_xlen_t>(transforms.size()) != values.size())
    throw std::invalid_argument("a transform is needed for each value");
  std::vector<const galvi::Transform*> found;
  for (const std::string& name : transforms) found.push_back(&galvi::find_transform(name));
  return to_r(galvi::transform_arguments(found, from_r(values)));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List hyper_prior_facts() {
  const auto rows = prior_density_facts();
  return Table<PriorDensityFacts>(rows)
      .column("type", [](const auto& p) { return p.type; })
      .column("of", [](const auto& p) { return p.of; })
      .frame();
}

//' Where a search starts that knows nothing but the prior
//' @noRd
// [[Rcpp::export(rng = false)]]
double prior_centre(Rcpp::List prior) { return prior_density_from_list(prior)->centre(); }

// [[Rcpp::export(rng = false)]]
Rcpp::List hyper_method_facts() {
  return Table<HyperMethod>(hyper_methods())
      .column("name", [](const auto& m) { return m.name; })
      .column("differences", [](const auto& m) { return m.differences; })
      .frame();
}

// [[Rcpp::export(rng = false)]]
std::vector<std::string> backend_names() { return galvi::backend_names(); }

//' Names of what moves q from minibatch to minibatch
//' @noRd
// [[Rcpp::export(rng = false)]]
std::vector<std::string> step_rule_names() { return galvi::step_rules(); }
