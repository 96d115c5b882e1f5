#include "global/wire.h"

#include <stdexcept>

namespace galvi {

namespace {

class Writer {
 public:
  void number(double x) { out.push_back(x); }
  void vector(const Vector& x) { out.insert(out.end(), x.data(), x.data() + x.size()); }
  void triangle(const Matrix& A) {
    for (Index j = 0; j < A.cols(); ++j) out.insert(out.end(), &A(j, j), A.data() + (j + 1) * A.rows());
  }
  std::vector<double> out;
};

class Reader {
 public:
  explicit Reader(const std::vector<double>& in) : in_(in) {}
  double number() { return *take(1); }
  Vector vector(Index n) { return Eigen::Map<const Vector>(take(n), n); }
  Matrix triangle(Index n) {
    Matrix A = Matrix::Zero(n, n);
    for (Index j = 0; j < n; ++j) {
      const double* from = take(n - j);
      std::copy_n(from, n - j, &A(j, j));
    }
    return A;
  }
  void finish() const {
    if (at_ != in_.size()) wrong();
  }

 private:
  const double* take(Index n) {
    if (at_ + static_cast<std::size_t>(n) > in_.size()) wrong();
    const double* from = in_.data() + at_;
    at_ += n;
    return from;
  }
  [[noreturn]] static void wrong() {
    throw std::invalid_argument("numbers of another model were received from a worker");
  }
  const std::vector<double>& in_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<double> to_numbers(const GlobalPosterior& q) {
  Writer writer;
  for (const LatentPosterior& part : q) {
    writer.vector(part.mean);
    writer.triangle(part.root);
  }
  return std::move(writer.out);
}

GlobalPosterior posterior_from_numbers(const LatentGaussianModel& model, const std::vector<double>& numbers) {
  Reader reader(numbers);
  GlobalPosterior out(model.latents());
  for (Index k = 0; k < model.latents(); ++k) {
    const Index L = model.predictor(k).prior->columns();
    out[k].mean = reader.vector(L);
    out[k].root = reader.triangle(L);
    out[k].log_det = -2 * out[k].root.diagonal().array().log().sum();
  }
  reader.finish();
  return out;
}

std::vector<double> to_numbers(const Contribution& sums) {
  Writer writer;
  for (const double x : {sums.rows, sums.value, sums.rounding}) writer.number(x);
  for (const Vector& slope : sums.slope) writer.vector(slope);
  for (const Matrix& curvature : sums.curvature) writer.triangle(curvature);
  writer.triangle(sums.joint);
  writer.vector(sums.hyper);
  for (const Vector& columns : sums.columns) writer.vector(columns);
  return std::move(writer.out);
}

Contribution contribution_from_numbers(const LatentGaussianModel& model, const Question& question,
                                       const std::vector<double>& numbers) {
  Reader reader(numbers);
  Contribution out;
  out.rows = reader.number();
  out.value = reader.number();
  out.rounding = reader.number();
  Index all = 0;
  for (Index k = 0; k < model.latents(); ++k) {
    const Index L = model.predictor(k).prior->columns();
    out.slope.push_back(reader.vector(L));
    all += L;
  }
  for (const Vector& slope : out.slope) out.curvature.push_back(reader.triangle(slope.size()));
  if (question.wanted.joint) out.joint = reader.triangle(all);
  if (question.wanted.gradient) {
    out.hyper = reader.vector(model.hypers());
    for (const auto& part : model.priors()) out.columns.push_back(reader.vector(part.prior->gradient_size()));
  }
  reader.finish();
  return out;
}

}  // namespace galvi
