#include "border/r_sources.h"

#include <stdexcept>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "global/wire.h"

namespace galvi {

RowBlock block_from_list(const Rcpp::List& list, Index first) {
  RowBlock out{data_from_list(list), get_matrix(list, "offset"), designs_from_list(list), first};
  const Index n = out.size();
  if (out.data.y.size() != n || out.data.size.size() != n || out.data.weight.size() != n)
    throw std::invalid_argument("a block's response, weights and offset differ in length");
  for (const auto& design : out.designs)
    for (const TermRows& rows : design->terms)
      if (rows.size() != n) throw std::invalid_argument("a block's terms differ in their number of rows");
  return out;
}

void ReadRows::read(const Partition& partition, const std::function<void(const RowBlock&, Index)>& body) {
  Rcpp::NumericVector bounds(partition.parts() + 1);
  for (Index part = 0; part <= partition.parts(); ++part)
    bounds[part] = static_cast<double>(partition.begin(part));
  const Rcpp::Function next = open_(bounds);
  Index part = 0;
  for (;;) {
    const Rcpp::RObject block = next();
    if (block.isNULL()) break;
    const RowBlock rows = block_from_list(Rcpp::List(block), partition.begin(part));
    const Index end = rows.first + rows.size();
    body(rows, part);
    while (part < partition.parts() && partition.begin(part) < end) ++part;
    if (partition.begin(part) != end) throw std::invalid_argument("a block does not end where a part does");
  }
  if (part < partition.parts())
    throw std::domain_error("the source gave fewer rows than when it was first read: it must give the same rows each time");
}

Contribution ReadRows::sum(const LatentGaussianModel& model, const Question& question) {
  const Partition partition = partition_of(model, rows_);
  TreeSum<Contribution> sum;
  read(partition, [&](const RowBlock& rows, Index first) {
    add_parts(model, question, partition, rows, first, sum);
  });
  ++model.context().cost.sweeps;
  return std::move(sum).total();
}

void ReadRows::for_blocks(const LatentGaussianModel& model, Index size, const Body& body) {
  const Partition partition = partition_of(model, rows_);
  read(partition, [&](const RowBlock& rows, Index first) { for_blocks_of(partition, rows, first, size, body); });
}

void ReadRows::for_batches(const LatentGaussianModel& model, Index size, const BatchBody& body) {
  read(partition_of(model, rows_),
       [&](const RowBlock& rows, Index) { for_batches_of(model, rows, size, body); });
}

Contribution WorkerRows::sum(const LatentGaussianModel& model, const Question& question) {
  const Rcpp::List answers(
      ask_(Rcpp::List::create(Rcpp::_["start"] = question.kind == Question::start,
                              Rcpp::_["q"] = question.q ? Rcpp::wrap(to_numbers(*question.q)) : R_NilValue,
                              Rcpp::_["joint"] = question.wanted.joint,
                              Rcpp::_["gradient"] = question.wanted.gradient, Rcpp::_["hyper"] = to_r(model.hyper()))));
  TreeSum<Contribution> sum;
  for (const auto& answer : answers) {
    const Rcpp::List node = answer;
    sum.add({get<int>(node, "level"), static_cast<Index>(get<double>(node, "place")),
             contribution_from_numbers(model, question, get<std::vector<double>>(node, "sum"))});
  }
  ++model.context().cost.sweeps;
  return std::move(sum).total();
}

void WorkerRows::refuse() {
  throw std::domain_error("blocks of rows that are with workers cannot be visited one after the other");
}

std::shared_ptr<RowSource> source_from_list(const Rcpp::List& model) {
  if (!has(model, "source")) return nullptr;
  const Rcpp::List source = model["source"];
  const Index rows = static_cast<Index>(get<double>(source, "rows"));
  if (has(source, "ask")) return std::make_shared<WorkerRows>(rows, get<Rcpp::Function>(source, "ask"));
  return std::make_shared<ReadRows>(rows, get<Rcpp::Function>(source, "open"));
}

}  // namespace galvi
