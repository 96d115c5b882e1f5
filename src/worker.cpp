// The border of a worker: a model with part of the rows, which answers passes.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "border/r_sources.h"
#include "global/wire.h"
#include "numeric/backend.h"
#include "numeric/thread_pool.h"

using namespace galvi;

namespace {

struct Worker {
  RMonitor monitor{R_NilValue};
  Context context;
  LatentGaussianModel model;
  RowBlock rows;  // parts first, first + 1, .. of all
  Index all, first;

  Worker(const Rcpp::List& list, const Rcpp::List& block, Index all, Index first, int threads,
         const std::string& linear_algebra)
      : context{backend(linear_algebra), monitor, threads},
        model(model_from_list(context, list, get<std::string>(list, "expectation"))),
        rows(block_from_list(block, 0)),
        all(all),
        first(first) {
    model.set_observations(all);
    model.update(hyper_from_list(list).values());
    const Partition partition = partition_of(model, all);
    rows.first = partition.begin(first);
    part_at_end(partition, first, rows.first + rows.size());
  }
};

/// The threads that a call made end with it: a process that is forked afterwards has none of them, and would wait for
/// them for ever.
class ThreadsOfCall {
 public:
  explicit ThreadsOfCall(Context& context) : context_(context) {}
  ~ThreadsOfCall() { context_.pool.reset(); }
  ThreadsOfCall(const ThreadsOfCall&) = delete;
  ThreadsOfCall& operator=(const ThreadsOfCall&) = delete;

 private:
  Context& context_;
};

}  // namespace

//' The parts that a model's sums are taken along, as bounds from 0 (internal)
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector partition_bounds(Rcpp::List model, double rows) {
  CallMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, 1};
  const LatentGaussianModel core = model_from_list(context, model, "auto");
  const Partition partition = partition_of(core, static_cast<Index>(rows));
  Rcpp::NumericVector out(partition.parts() + 1);
  for (Index part = 0; part <= partition.parts(); ++part)
    out[part] = static_cast<double>(partition.begin(part));
  return out;
}

//' A worker for these rows: parts first, first + 1, .. of `all` rows, first from 0 (internal)
//' @noRd
// [[Rcpp::export(rng = false)]]
SEXP new_worker(Rcpp::List model, Rcpp::List block, double all, double first, int threads,
                std::string backend = "auto") {
  Rcpp::XPtr<Worker> own(
      new Worker(model, block, static_cast<Index>(all), static_cast<Index>(first), threads, backend));
  const ThreadsOfCall ended(own->context);
  return own;
}

//' Its answer to a pass: the largest complete subtrees of the tree of sums (internal)
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List ask_worker(SEXP worker, Rcpp::List question) {
  Rcpp::XPtr<Worker> own(worker);
  const ThreadsOfCall threads(own->context);
  const Listening listening(own->monitor);
  const OneBlasThread one;
  const auto asked = question_from_list(own->model, question);
  if (own->model.hyper() != asked->hyper) own->model.update(asked->hyper);
  TreeSum<Contribution> sum;
  add_read_parts(own->model, asked->question, partition_of(own->model, own->all), own->rows, own->first, sum);
  Rcpp::List out;
  for (const auto& node : sum.roots())
    out.push_back(Rcpp::List::create(Rcpp::_["level"] = node.level,
                                     Rcpp::_["place"] = static_cast<double>(node.place),
                                     Rcpp::_["sum"] = Rcpp::wrap(to_numbers(node.sum))));
  return out;
}
