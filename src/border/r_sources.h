// Rows that are not in memory: R reads them block by block, or asks workers.
#pragma once

#include <Rcpp/Lightest>

#include "global/row_source.h"

namespace galvi {

/// open(bounds) -> next(), which gives the next block as a list (y, size, weights, offset, designs) of whole
/// parts, NULL at the end. Either may return a condition instead, which becomes a SourceFailure. Part p has the rows bounds[p], .., bounds[p + 1] - 1, from 0.
class ReadRows final : public RowSource {
 public:
  ReadRows(Index rows, Rcpp::Function open) : rows_(rows), open_(std::move(open)) {}
  Index rows() const override { return rows_; }
  Contribution sum(LatentGaussianModel& model, const Question& question) override;
  void for_blocks(const LatentGaussianModel& model, Index size, const Body& body) override;
  void for_batches(const LatentGaussianModel& model, Index size, const BatchBody& body) override;

 private:
  /// body(block, its first part)
  void read(const Partition& partition, const std::function<void(const RowBlock&, Index)>& body);

  Index rows_;
  Rcpp::Function open_;
};

/// ask(question), a list as question_from_list() reads it -> what workers answer: a list of subtrees of the tree over the
/// parts, in order, each list(level, place, sum).
class WorkerRows final : public RowSource {
 public:
  WorkerRows(Index rows, Rcpp::Function ask) : rows_(rows), ask_(std::move(ask)) {}
  Index rows() const override { return rows_; }
  Contribution sum(LatentGaussianModel& model, const Question& question) override;
  void for_blocks(const LatentGaussianModel&, Index, const Body&) override { refuse(); }
  void for_batches(const LatentGaussianModel&, Index, const BatchBody&) override { refuse(); }
  bool has_blocks() const override { return false; }

 private:
  [[noreturn]] static void refuse();

  Index rows_;
  Rcpp::Function ask_;
};

/// A block as R passes it.
RowBlock block_from_list(const Rcpp::List& list, Index first);
/// The question for workers as a list of plain numbers, and back.
Rcpp::List question_to_r(const LatentGaussianModel& model, const Question& question);
struct QuestionOfMaster {
  Question question;
  Vector hyper;
  GlobalPosterior q;  // what the question refers to
  GivenSites given;
};
std::unique_ptr<QuestionOfMaster> question_from_list(const LatentGaussianModel& model, const Rcpp::List& list);
/// The source of rows in a model list whose rows are elsewhere (`source`: list(rows, open) or list(rows,
/// ask)); null if they are in memory.
std::shared_ptr<RowSource> source_from_list(const Rcpp::List& model);

}  // namespace galvi
