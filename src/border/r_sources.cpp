#include "border/r_sources.h"

#include <memory>
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

namespace {

// R passes the error in place of rows.
Rcpp::RObject delivered(const Rcpp::RObject& x) {
  if (!x.inherits("condition")) return x;
  throw SourceFailure(get<std::string>(Rcpp::List(x), "message"));
}

}  // namespace

void ReadRows::read(const Partition& partition, const std::function<void(const RowBlock&, Index)>& body) {
  Rcpp::NumericVector bounds(partition.parts() + 1);
  for (Index part = 0; part <= partition.parts(); ++part)
    bounds[part] = static_cast<double>(partition.begin(part));
  const Rcpp::Function following(delivered(open_(bounds)));
  Index part = 0;
  for (;;) {
    const Rcpp::RObject block = delivered(following());
    if (block.isNULL()) break;
    const RowBlock rows = block_from_list(Rcpp::List(block), partition.begin(part));
    const Index next = part_at_end(partition, part, rows.first + rows.size());
    body(rows, part);
    part = next;
  }
  if (part < partition.parts())
    throw SourceFailure("the source gave fewer rows than when it was first read: it must give the same rows each time");
}

Contribution ReadRows::sum(LatentGaussianModel& model, const Question& question) {
  const Partition partition = partition_of(model, rows_);
  TreeSum<Contribution> sum;
  read(partition, [&](const RowBlock& rows, Index first) {
    add_read_parts(model, question, partition, rows, first, sum);
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

Rcpp::List question_to_r(const LatentGaussianModel& model, const Question& question) {
  Rcpp::List out = Rcpp::List::create(Rcpp::_["kind"] = static_cast<int>(question.kind),
                                      Rcpp::_["hyper"] = to_r(model.hyper()),
                                      Rcpp::_["joint"] = question.wanted.joint,
                                      Rcpp::_["gradient"] = question.wanted.gradient);
  if (question.kind == Question::contribution) out["q"] = to_numbers(*question.q);
  if (question.kind == Question::sites) {
    const GivenSites& given = *question.given;
    out["given"] = Rcpp::List::create(Rcpp::_["q"] = to_numbers(*given.q),
                                      Rcpp::_["hyper"] = to_r(given.hyper), Rcpp::_["order"] = given.order);
  }
  return out;
}

std::unique_ptr<QuestionOfMaster> question_from_list(const LatentGaussianModel& model, const Rcpp::List& list) {
  auto out = std::make_unique<QuestionOfMaster>();
  Question& question = out->question;
  out->hyper = get_vector(list, "hyper");
  question.kind = static_cast<Question::Kind>(get<int>(list, "kind"));
  question.wanted = {get<bool>(list, "joint"), get<bool>(list, "gradient"), nullptr};
  if (question.kind == Question::contribution) {
    out->q = posterior_from_numbers(model, get<std::vector<double>>(list, "q"));
    question.q = &out->q;
  }
  if (question.kind == Question::sites) {
    const Rcpp::List given = list["given"];
    out->given = {std::make_shared<const GlobalPosterior>(
                      posterior_from_numbers(model, get<std::vector<double>>(given, "q"))),
                  get_vector(given, "hyper"),
                  get<int>(given, "order"),
                  {}};
    question.given = &out->given;
  }
  return out;
}

Contribution WorkerRows::sum(LatentGaussianModel& model, const Question& question) {
  const Rcpp::List answers(ask_(question_to_r(model, question)));
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
