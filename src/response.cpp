// The border: predictions of responses and of classes, and curvatures, row by row, from moments of eta.
#include <Rcpp/Lightest>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "function/elementwise.h"
#include "likelihood/custom.h"
#include "likelihood/distributional.h"
#include "numeric/alike_rows.h"
#include "numeric/backend.h"
#include "numeric/parallel.h"
#include "numeric/quiet_monitor.h"
#include "predictive/monotone_mixture.h"
#include "predictive/predictive.h"
#include "quadrature/class_nodes.h"

namespace {

using galvi::Likelihood;

struct Row {
  galvi::Datum datum;
  const double *mean, *variance;  // K
  double probability;
};
using Quantity = std::function<double(const Likelihood&, const Row&)>;

const std::map<std::string, Quantity>& quantities() {
  using namespace galvi;
  static const std::map<std::string, Quantity> table = {
      {"mean",
       [](const Likelihood& l, const Row& r) {
         return predictive_mean(l, r.datum, r.mean, r.variance);
       }},
      {"mean_variance", [](const Likelihood& l,
                           const Row& r) {
         return predictive_mean_variance(l, r.datum, r.mean, r.variance);
       }},
      {"variance",
       [](const Likelihood& l, const Row& r) {
         return predictive_variance(l, r.datum, r.mean, r.variance);
       }},
      {"log_density",
       [](const Likelihood& l, const Row& r) {
         return predictive_log_density(l, r.datum, r.mean, r.variance);
       }},
      {"log_mean",
       [](const Likelihood& l, const Row& r) { return predictive_log_mean(l, r.mean, r.variance, 1.0); }},
      {"log_rest",
       [](const Likelihood& l, const Row& r) { return predictive_log_mean(l, r.mean, r.variance, -1.0); }},
      {"deviance", [](const Likelihood& l, const Row& r) { return unit_deviance(l, r.datum, r.mean); }},
      {"cdf",
       [](const Likelihood& l, const Row& r) {
         return predictive_tails(l, r.datum, r.mean, r.variance).lower;
       }},
      {"upper",
       [](const Likelihood& l, const Row& r) {
         return predictive_tails(l, r.datum, r.mean, r.variance).upper;
       }},
      {"quantile",
       [](const Likelihood& l, const Row& r) {
         return predictive_quantile(l, r.datum, r.mean, r.variance, r.probability);
       }},
  };
  return table;
}

/// Rows whose eta is known, as at points: moments given eta, and log densities of many rows at once, by what the
/// likelihood computes of the same rows once for all sets of hyperparameters.
class KnownRows {
 public:
  KnownRows(const Likelihood& likelihood, galvi::Index count)
      : likelihood_(likelihood),
        K_(likelihood.latents()),
        count_(count),
        possible_(!likelihood.custom() && !likelihood.mixed() && likelihood.classes() == 0 &&
                  !(likelihood.distributional() && likelihood.distributional()->custom_several())) {}

  /// False where these are no such rows, or some are missing or impossible.   datum(n); mean(n, k), variance(n, k)
  template <class DatumOf, class Mean, class Variance>
  bool log_densities(const DatumOf& datum, const Mean& mean, const Variance& variance, double* out) {
    using namespace galvi;
    Matrix eta(possible_ ? count_ : 0, K_);
    for (Index k = 0; k < K_; ++k)
      for (Index n = 0; n < eta.rows(); ++n) {
        eta(n, k) = mean(n, k);
        if (!(variance(n, k) == 0.0) || !std::isfinite(eta(n, k))) return false;
      }
    if (!possible_ || !prepare(datum)) return false;
    Index first = 0;
    for (const PreparedRows& rows : prepared_) {
      likelihood_.careful_log_densities(rows, eta.middleRows(first, rows.size()),
                                        Eigen::Map<Eigen::ArrayXd>(out + first, rows.size()));
      first += rows.size();
    }
    return true;
  }

  /// The mean or the variance of responses; false as above.
  template <class DatumOf, class Mean, class Variance>
  bool moments(const std::string& what, const DatumOf& datum, const Mean& mean, const Variance& variance,
               double* out) const {
    using namespace galvi;
    if (!possible_ || !(what == "mean" || what == "variance")) return false;
    std::vector<double> eta(K_);
    const bool means = what == "mean";
    for (Index n = 0; n < count_; ++n) {
      const Datum row = datum(n);
      if (std::isnan(row.y) || std::isnan(row.size) || std::isnan(row.upper)) return false;
      for (Index k = 0; k < K_; ++k) {
        eta[k] = mean(n, k);
        if (!(variance(n, k) == 0.0) || !std::isfinite(eta[k])) return false;
      }
      out[n] = means ? likelihood_.conditional_mean(row, eta.data())
                     : likelihood_.conditional_variance(row, eta.data());
    }
    return true;
  }

 private:
  template <class DatumOf>
  bool prepare(const DatumOf& datum_of) {
    using namespace galvi;
    Matrix facts(count_, 7);
    for (Index n = 0; n < count_; ++n) {
      const Datum datum = datum_of(n);
      const Support support = likelihood_.support(datum);
      const bool inside = datum.censored() || (datum.y >= support.low && datum.y <= support.high);
      if (datum.counts || !inside || std::isnan(datum.y) || std::isnan(datum.upper) || std::isnan(datum.size))
        return false;
      facts.row(n) << datum.y, datum.size, datum.upper, datum.entry, datum.noise, datum.exit, 1.0;
    }
    if (facts_.rows() == count_ && facts_ == facts) return true;
    facts_ = std::move(facts);
    prepared_.clear();
    for (Index first = 0; first < count_; first += PreparedRows::most) {
      const auto own = facts_.middleRows(first, std::min<Index>(PreparedRows::most, count_ - first));
      Data data{own.col(0), own.col(1), own.col(6)};
      data.censoring = own(Eigen::all, {0, 2, 3});
      data.known = own(Eigen::all, {4, 3, 5});
      prepared_.push_back(likelihood_.prepare(std::move(data)));
    }
    return true;
  }

  const Likelihood& likelihood_;
  galvi::Index K_, count_;
  bool possible_;
  galvi::Matrix facts_;
  std::vector<galvi::PreparedRows> prepared_;
};

}  // namespace

// `hyper` is one set of all hyperparameters, or a matrix with a set in each row: the first of as many equal parts of the
// rows has the first of them, and so on. `mean` is N x K; `size`, `y` and `probability` are recycled to its rows and `variance` to its length; y is
// used by "log_density", "deviance" (with `mean` as eta), "cdf" and "upper" (the probability of more), probability by
// "quantile". With
// `censoring` (N x 3, the model list's) the log density is that of censored and truncated responses, with `counts`
// (N x classes) that of counts of classes; `known` (N x 3) is the model list's. NA in a row gives NA, and so does a mean
// or variance that is not finite.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector predict_response(Rcpp::List likelihood, Rcpp::NumericVector hyper,
                                     Rcpp::NumericVector size, Rcpp::NumericVector y,
                                     Rcpp::NumericVector mean, Rcpp::NumericVector variance, std::string what,
                                     Rcpp::NumericVector probability,
                                     Rcpp::Nullable<Rcpp::NumericMatrix> censoring = R_NilValue,
                                     Rcpp::Nullable<Rcpp::NumericMatrix> counts = R_NilValue,
                                     Rcpp::Nullable<Rcpp::NumericMatrix> known = R_NilValue,
                                     int threads = 1) {
  const auto quantity = quantities().find(what);
  if (quantity == quantities().end())
    throw std::invalid_argument("unknown predictive quantity \"" + what + "\"");
  const R_xlen_t sets = Rf_isMatrix(hyper) ? Rf_nrows(hyper) : 1;
  const Eigen::Map<const galvi::Matrix> values(hyper.begin(), sets, sets > 0 ? hyper.size() / sets : 0);
  if (sets < 1) throw std::invalid_argument("hyper must have a row");
  const auto l = galvi::likelihood_at(likelihood, values.row(0));
  const R_xlen_t K = l->latents(), N = mean.size() / K, part = N / sets;
  if (N * K != mean.size()) throw std::invalid_argument("mean must be N x K");
  if (part * sets != N) throw std::invalid_argument("sets of hyperparameters must have equal numbers of rows");
  Rcpp::NumericVector out(N);
  auto at = [](const Rcpp::NumericVector& x, R_xlen_t n) {
    const R_xlen_t size = x.size();
    // a division for each number would be most of the work
    return size == 0 ? 1.0 : x[n < size ? n : size == 1 ? 0 : n % size];
  };
  const galvi::Matrix range =
      censoring.isNull() ? galvi::Matrix(0, 3) : galvi::from_r(Rcpp::NumericMatrix(censoring.get()));
  if (censoring.isNotNull() && (range.rows() != N || range.cols() != 3))
    throw std::invalid_argument("censoring must be N x 3");
  const galvi::Matrix facts = known.isNull() ? galvi::Matrix(0, 3) : galvi::from_r(Rcpp::NumericMatrix(known.get()));
  if (known.isNotNull() && (facts.rows() != N || facts.cols() != 3))
    throw std::invalid_argument("known must be N x 3");
  // a column for each row: one row's counts are together
  galvi::Matrix trials;
  if (counts.isNotNull()) {
    trials = galvi::from_r(Rcpp::NumericMatrix(counts.get())).transpose();
    if (trials.cols() != N || trials.rows() != l->classes())
      throw std::invalid_argument("counts must be N x classes");
  }
  const auto datum_of = [&](R_xlen_t n) {
    galvi::Datum datum{at(y, n), at(size, n)};
    if (range.rows() > 0) datum = {range(n, 0), at(size, n), range(n, 1), range(n, 2)};
    if (facts.rows() > 0) {
      datum.noise = facts(n, 0);
      datum.entry = std::max(datum.entry, facts(n, 1));
      datum.exit = facts(n, 2);
    }
    if (trials.cols() > 0) datum.counts = trials.col(n).data();
    return datum;
  };
  const auto missing = [&](const Row& row) {
    const Eigen::Map<const galvi::Vector> m(row.mean, K), v(row.variance, K);
    return !m.allFinite() || !v.allFinite() || v.minCoeff() < 0.0 || std::isnan(row.datum.y) ||
           std::isnan(row.datum.size) || std::isnan(row.datum.upper) || std::isnan(row.probability) ||
           (row.datum.counts && !Eigen::Map<const galvi::Vector>(row.datum.counts, trials.rows()).allFinite());
  };
  galvi::CallMonitor monitor(R_NilValue);
  galvi::Context context{galvi::backend("auto"), monitor, threads};
  constexpr R_xlen_t rows_at_a_time = 4;
  constexpr double row_work = 1e4;  // approximate flops
  KnownRows known_rows(*l, part);
  for (R_xlen_t set = 0; set < sets; ++set) {
    monitor.poll();
    if (set > 0) l->update(values.row(set).transpose());
    const R_xlen_t first = set * part;
    const auto datum = [&](R_xlen_t n) { return datum_of(first + n); };
    const auto mean_of = [&](R_xlen_t n, galvi::Index k) { return mean[first + n + k * N]; };
    const auto variance_of = [&](R_xlen_t n, galvi::Index k) { return at(variance, first + n + k * N); };
    if (what == "log_density" ? known_rows.log_densities(datum, mean_of, variance_of, out.begin() + first)
                              : sets > 1 && known_rows.moments(what, datum, mean_of, variance_of, out.begin() + first))
      continue;
    // many sets have few rows each, for which threads would wait for each other more than they would work
    const double work = sets > 1 ? 0.0 : row_work * static_cast<double>(part);
    galvi::parallel_for(context, (part + rows_at_a_time - 1) / rows_at_a_time, work, [&](galvi::Index block) {
      galvi::Vector m(K), v(K);
      for (R_xlen_t i = block * rows_at_a_time; i < std::min<R_xlen_t>(part, (block + 1) * rows_at_a_time); ++i) {
        const R_xlen_t n = first + i;
        for (R_xlen_t k = 0; k < K; ++k) {
          m[k] = mean[n + k * N];
          v[k] = at(variance, n + k * N);
        }
        const Row row{datum_of(n), m.data(), v.data(), at(probability, n)};
        out[n] = missing(row) ? NA_REAL : quantity->second(*l, row);
      }
    });
  }
  return out;
}

//' What a custom density adds up to over its support
//' @noRd
// [[Rcpp::export(rng = false)]]
double density_mass(Rcpp::List likelihood, Rcpp::NumericVector hyper, double eta) {
  const auto l = galvi::likelihood_at(likelihood, galvi::from_r(hyper));
  if (!l->custom()) throw std::invalid_argument("this likelihood is not a custom one");
  return l->custom()->mass(eta);
}

namespace {

// Rows begin .. begin + count - 1 of predict_classes(): those that are alike are computed once; `moment` may have no
// rows.
void predict_uncertain_classes(galvi::Context& context, const Likelihood& likelihood,
                               const galvi::ConstMatrixRef& mean, const galvi::ConstMatrixRef& variance,
                               galvi::Index begin, galvi::Index count, galvi::Matrix& probability,
                               galvi::Matrix& moment) {
  using galvi::Index;
  constexpr Index rows_at_a_time = 16;
  constexpr double row_work = 1e5;
  const Index K = mean.cols(), C = probability.cols();
  const bool second = moment.rows() > 0;
  galvi::AlikeRows alike(count);
  std::vector<Index> first(count), own;
  for (Index n = begin; n < begin + count; ++n) {
    first[n - begin] = alike.first(n, [&](Index row, const auto& add) {
      for (Index k = 0; k < K; ++k) {
        add(mean(row, k));
        add(variance(row, k));
      }
    });
    if (first[n - begin] == n) own.push_back(n);
  }
  const auto rows = static_cast<Index>(own.size());
  galvi::parallel_for(context, (rows + rows_at_a_time - 1) / rows_at_a_time, row_work * static_cast<double>(rows),
                      [&](Index block) {
    galvi::Vector m(K), v(K), p(C), s(C);
    for (Index i = block * rows_at_a_time; i < std::min(rows, (block + 1) * rows_at_a_time); ++i) {
      const Index n = own[i];
      m = mean.row(n);
      v = variance.row(n);
      if (!m.allFinite() || !v.allFinite() || !(v.array() >= 0.0).all()) {
        p.setConstant(NA_REAL);
        s.setConstant(NA_REAL);
      } else {
        galvi::predictive_classes(likelihood, m.data(), v.data(), p.data(), second ? s.data() : nullptr);
      }
      probability.row(n) = p;
      if (second) moment.row(n) = s;
    }
  });
  for (Index n = begin; n < begin + count; ++n) {
    if (first[n - begin] == n) continue;
    probability.row(n) = probability.row(first[n - begin]);
    if (second) moment.row(n) = moment.row(first[n - begin]);
  }
}

}  // namespace

// mean, variance: N x K; hyper as in predict_response(). N x C probabilities or, with `second`, list(probability,
// second) with E p^2 beside them. NA in a row gives NA.
// [[Rcpp::export(rng = false)]]
SEXP predict_classes(Rcpp::List likelihood, Rcpp::NumericVector hyper, Rcpp::NumericMatrix mean,
                     Rcpp::NumericMatrix variance, bool second = false, int threads = 1) {
  using galvi::Index;
  const Index sets = Rf_isMatrix(hyper) ? Rf_nrows(hyper) : 1;
  const Eigen::Map<const galvi::Matrix> values(hyper.begin(), sets, sets > 0 ? hyper.size() / sets : 0);
  if (sets < 1) throw std::invalid_argument("hyper must have a row");
  const auto l = galvi::likelihood_at(likelihood, values.row(0));
  const Index K = l->latents(), C = l->classes();
  if (C == 0) throw std::invalid_argument("this likelihood has no classes");
  const Index rows = mean.nrow(), part = rows / sets;
  if (part * sets != rows) throw std::invalid_argument("sets of hyperparameters must have equal numbers of rows");
  if (mean.ncol() != K || variance.ncol() != K || variance.nrow() != rows)
    throw std::invalid_argument("mean and variance must be N x K");
  galvi::Matrix probability(rows, C), moment(second ? rows : 0, C);
  galvi::CallMonitor monitor(R_NilValue);
  galvi::Context context{galvi::backend("auto"), monitor, threads};
  const auto eta = galvi::from_r(mean), spread = galvi::from_r(variance);
  // Blocks of sets, each with a likelihood of its own, as sets change it. One set's rows are divided instead.
  constexpr Index most_blocks = 64;
  constexpr double row_work = 1e3;
  const Index blocks = std::min(sets, most_blocks);
  std::vector<std::unique_ptr<Likelihood>> own;
  for (Index block = 0; block < blocks; ++block) own.push_back(galvi::likelihood_at(likelihood, values.row(0)));
  const auto of_sets = [&](galvi::Context& inner, Index block) {
    Likelihood& at = *own[block];
    galvi::CertainClasses certain(at);
    for (Index set = sets * block / blocks; set < sets * (block + 1) / blocks; ++set) {
      at.update(values.row(set).transpose());
      const Index begin = set * part;
      if (spread.middleRows(begin, part).isZero(0.0) && eta.middleRows(begin, part).allFinite()) {
        const galvi::Matrix all = certain(eta.middleRows(begin, part));
        probability.middleRows(begin, part) = all;
        if (second) moment.middleRows(begin, part) = all.cwiseAbs2();
      } else {
        predict_uncertain_classes(inner, at, eta, spread, begin, part, probability, moment);
      }
    }
  };
  if (blocks == 1) {
    of_sets(context, 0);
  } else {
    galvi::parallel_for(context, blocks, row_work * static_cast<double>(rows), [&](Index block) {
      galvi::QuietMonitor quiet;
      galvi::Context inner{context.backend, quiet, 1};
      of_sets(inner, block);
    });
  }
  if (!second) return galvi::to_r(probability);
  return Rcpp::List::create(Rcpp::_["probability"] = galvi::to_r(probability),
                            Rcpp::_["second"] = galvi::to_r(moment));
}

//' d^2 E log p(y_n | eta_n) / dm_j dm_k by the model's expectation, times the row's weight
//' @param mean,variance Marginal moments of eta.   N x K
//' @return N x K^2, entry (j, k) of row n in column j + K (k - 1).
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix mean_curvature(Rcpp::List model, Rcpp::NumericMatrix mean, Rcpp::NumericMatrix variance,
                                   int threads) {
  galvi::CallMonitor monitor(R_NilValue);
  galvi::Context context{galvi::backend("auto"), monitor, threads};
  const auto likelihood =
      galvi::likelihood_at(galvi::get<Rcpp::List>(model, "likelihood"), galvi::hyper_from_list(model).values());
  const auto expectation = galvi::expectation_from_list(model, *likelihood);
  galvi::Expectations out;
  expectation->evaluate(context, *likelihood, galvi::data_from_list(model), galvi::from_r(mean),
                        galvi::from_r(variance), 2, out);
  return galvi::to_r(out.d_mm);
}

//' Nodes at which the latent values of a row's classes are independent (src/quadrature/class_nodes.h)
//' @param mean N x C. between: covariances of each row's latent values, N x C^2.
//' @param smooth For means of probabilities; those of counts need more nodes.
//' @return list(mean, variance: nodes x C; weight; row), one row's nodes after the other's.
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List nodes_of_classes(Rcpp::NumericMatrix mean, Rcpp::NumericVector between, bool smooth = true) {
  const galvi::Matrix means = galvi::from_r(mean);
  const galvi::Index N = means.rows(), C = means.cols();
  if (between.size() != N * C * C) throw std::invalid_argument("between must be N x C^2");
  const Eigen::Map<const galvi::Matrix> covariances(between.begin(), N, C * C);
  std::vector<galvi::ClassNodes> of_rows;
  galvi::Index size = 0;
  for (galvi::Index n = 0; n < N; ++n) {
    const galvi::Vector V = covariances.row(n);
    of_rows.push_back(galvi::class_nodes(means.row(n), Eigen::Map<const galvi::Matrix>(V.data(), C, C), smooth));
    size += of_rows.back().weight.size();
  }
  galvi::Matrix node(size, C), variance(size, C);
  galvi::Vector weight(size);
  Rcpp::IntegerVector row(size);
  galvi::Index at = 0;
  for (galvi::Index n = 0; n < N; ++n) {
    const galvi::Index m = of_rows[n].weight.size();
    node.middleRows(at, m) = of_rows[n].mean;
    variance.middleRows(at, m) = of_rows[n].variance;
    weight.segment(at, m) = of_rows[n].weight;
    std::fill_n(row.begin() + at, m, static_cast<int>(n) + 1);
    at += m;
  }
  return Rcpp::List::create(Rcpp::_["mean"] = galvi::to_r(node), Rcpp::_["variance"] = galvi::to_r(variance),
                            Rcpp::_["weight"] = galvi::to_r(weight), Rcpp::_["row"] = row);
}

namespace {

// R's list(values, shares, z): values are matrices of points x functions, shares those of their columns.
galvi::MonotoneMixture mixture_from_list(const Rcpp::List& mixture) {
  galvi::MonotoneMixture out(galvi::get_vector(mixture, "z"));
  const auto values = galvi::get<Rcpp::List>(mixture, "values"), shares = galvi::get<Rcpp::List>(mixture, "shares");
  for (R_xlen_t s = 0; s < values.size(); ++s) {
    const galvi::Matrix V = galvi::from_r(Rcpp::as<Rcpp::NumericMatrix>(values[s]));
    const galvi::Vector share = galvi::from_r(Rcpp::as<Rcpp::NumericVector>(shares[s]));
    if (V.rows() != Rf_length(galvi::field(mixture, "z")) || V.cols() != share.size())
      throw std::invalid_argument("a mixture's values, shares and points differ in size");
    out.add(V, share);
  }
  return out;
}

}  // namespace

//' log sum_s exp(x_ns) of each row
//' @param x N x S; where a row's largest number is infinite, or one is missing, the result is that.
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector log_sum_exp(Rcpp::NumericMatrix x) {
  using Column = Eigen::Map<const Eigen::ArrayXd>;
  constexpr R_xlen_t most = 512;  // what is summed stays in the cache
  const R_xlen_t N = x.nrow(), S = x.ncol();
  Rcpp::NumericVector out(N, R_NegInf);
  Eigen::ArrayXd top(most), sum(most), share(most);
  for (R_xlen_t first = 0; first < N; first += most) {
    const R_xlen_t rows = std::min(most, N - first);
    const auto column = [&](R_xlen_t s) { return Column(x.begin() + first + s * N, rows); };
    auto largest = top.head(rows);
    largest.setConstant(R_NegInf);
    for (R_xlen_t s = 0; s < S; ++s) largest = (column(s) > largest || column(s).isNaN()).select(column(s), largest);
    sum.head(rows).setZero();
    for (R_xlen_t s = 0; s < S; ++s) {
      auto own = share.head(rows);
      own = column(s) - largest;
      galvi::exp_each(own);
      sum.head(rows) += own;
    }
    for (R_xlen_t n = 0; n < rows; ++n)
      out[first + n] = std::isfinite(top[n]) ? top[n] + std::log(sum[n]) : top[n];
  }
  return out;
}

//' Weighted means and variances of each row
//' @param x Rows x S numbers. weight: S, of sum one.
//' @return list(mean, variance); an infinite mean has an infinite variance, a missing one none.
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List weighted_row_moments(Rcpp::NumericVector x, Rcpp::NumericVector weight) {
  const Eigen::Map<const galvi::Vector> w(weight.begin(), weight.size());
  const R_xlen_t N = w.size() > 0 ? x.size() / w.size() : 0;
  if (N * w.size() != x.size()) throw std::invalid_argument("x must be rows x S");
  const Eigen::Map<const galvi::Matrix> X(x.begin(), N, w.size());
  const galvi::Vector mean = X * w;
  galvi::Vector variance = galvi::Vector::Zero(N);
  for (R_xlen_t s = 0; s < w.size(); ++s) variance += w[s] * (X.col(s) - mean).cwiseAbs2();
  for (R_xlen_t n = 0; n < N; ++n) {
    if (std::isinf(mean[n])) variance[n] = R_PosInf;
    if (std::isnan(mean[n])) variance[n] = NA_REAL;
  }
  return Rcpp::List::create(Rcpp::_["mean"] = galvi::to_r(mean), Rcpp::_["variance"] = galvi::to_r(variance));
}

//' Quantiles of a mixture of monotone functions (src/predictive/monotone_mixture.h)
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector mixture_quantiles(Rcpp::List mixture, Rcpp::NumericVector probabilities) {
  const galvi::MonotoneMixture distribution = mixture_from_list(mixture);
  Rcpp::NumericVector out(probabilities.size());
  for (R_xlen_t i = 0; i < out.size(); ++i) out[i] = distribution.quantile(probabilities[i]);
  return out;
}

//' P(value <= x) for such a mixture
//' @noRd
// [[Rcpp::export(rng = false)]]
double mixture_below(Rcpp::List mixture, double x) { return mixture_from_list(mixture).below(x); }
