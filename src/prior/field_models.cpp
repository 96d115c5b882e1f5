#include "prior/field_models.h"

#include <cmath>
#include <stdexcept>

#include "prior/structure_ar1.h"
#include "prior/structure_compound.h"
#include "prior/structure_independent.h"
#include "prior/structure_toeplitz.h"
#include "prior/structure_unstructured.h"

namespace galvi {

namespace {

Mixture scaled(const Vector& h) {
  const double v = h[0];
  Mixture out{Vector(1), Matrix(1, 1)};
  out.coefficient << 1 / v;
  out.slope << -1 / (v * v);
  return out;
}

// D - dependence A
Mixture proper(const Vector& h) {
  const double v = h[0], d = h[1];
  Mixture out{Vector(2), Matrix(2, 2)};
  out.coefficient << 1 / v, d / v;
  out.slope << -1 / (v * v), 0,  //
      -d / (v * v), 1 / v;
  return out;
}

// unstructured, then structured nodes
Mixture bym2(const Vector& h) {
  const double v = h[0], m = h[1];
  Mixture out{Vector(2), Matrix(2, 2)};
  out.coefficient << 1 / (v * (1 - m)), 1 / (v * m);
  out.slope << -1 / (v * v * (1 - m)), 1 / (v * (1 - m) * (1 - m)),  //
      -1 / (v * v * m), -1 / (v * m * m);
  return out;
}

// variance: marginal. Parts: ones, ones away from the ends, minus one between neighbours.
Mixture ar1(const Vector& h) {
  const double v = h[0], r = h[1], s = 1 - r * r, a = 1 / (v * s), da = 2 * r * a / s;
  Mixture out{Vector(3), Matrix(3, 2)};
  out.coefficient << a, a * r * r, a * r;
  out.slope << -a / v, da,  //
      -a * r * r / v, da * r * r + 2 * a * r,  //
      -a * r / v, da * r + a;
  return out;
}

// z_t = a z_(t-1) + b z_(t-2) + noise by its lag-one correlation r and its partial autocorrelation q of lag two:
//   b = q,  a = r (1 - q),  noise variance v (1 - r^2) (1 - q^2).
// Q times the noise variance is sum of a^j b^k times a matrix of whole numbers. Parts: ones; a^2; b^2; a; a b; b.
Mixture ar2(const Vector& h) {
  const double v = h[0], r = h[1], b = h[2], a = r * (1 - b);
  const double left_r = 1 - r * r, left_b = 1 - b * b, scale = 1 / (v * left_r * left_b);
  Vector part(6), by_a(6), by_b(6);  // a^j b^k and its derivatives
  part << 1, a * a, b * b, a, a * b, b;
  by_a << 0, 2 * a, 0, 1, b, 0;
  by_b << 0, 0, 2 * b, 0, a, 1;
  Mixture out{scale * part, Matrix(6, 3)};
  out.slope.col(0) = -1 / v * out.coefficient;
  out.slope.col(1) = 2 * r / left_r * out.coefficient + scale * (1 - b) * by_a;  // da / dr = 1 - b
  out.slope.col(2) = 2 * b / left_b * out.coefficient + scale * (by_b - r * by_a);  // da / db = -r
  return out;
}

// A Matern field of smoothness 1 in the plane, by finite elements (Lindgren, Rue and Lindstrom 2011):
// Q = tau^2 (kappa^4 C + 2 kappa^2 G + G C^-1 G), range = sqrt(8) / kappa, sd^2 = 1 / (4 pi kappa^2 tau^2).
Mixture spde(const Vector& h) {
  const double range = h[0], sd = h[1], kappa2 = 8 / (range * range), unit = 1 / (4 * M_PI * sd * sd);
  Mixture out{Vector(3), Matrix(3, 2)};
  out.coefficient << unit * kappa2, 2 * unit, unit / kappa2;
  out.slope << -2 * unit * kappa2 / range, 0,  //
      0, 0,  //
      2 * unit / kappa2 / range, 0;
  out.slope.col(1) = -2 / sd * out.coefficient;
  return out;
}

Mixture scaled_by_sd(const Vector& h) {
  const double s = h[0];
  Mixture out{Vector(1), Matrix(1, 1)};
  out.coefficient << 1 / (s * s);
  out.slope << -2 / (s * s * s);
  return out;
}

Mixture standard(const Vector&) { return {Vector::Ones(1), Matrix(1, 0)}; }

}  // namespace

const std::vector<FieldModel>& field_models() {
  static const FieldParameter variance{"variance", "log", 1e-6, 1e7, true, true};
  static const FieldParameter sd{"sd", "log", 1e-3, 3e3, true, true};
  static const FieldParameter cor{"cor", "atanh", -0.99999, 0.99999, false, true};
  static const std::vector<FieldModel> table = {
      {"standard", {}, 1, standard},  // N(0, I)
      {"iid", {variance}, 1, scaled},
      {"besag", {variance}, 1, scaled},
      {"rw1", {variance}, 1, scaled},
      {"rw2", {variance}, 1, scaled},
      {"proper", {variance, {"dependence", "logit", 0.001, 0.999}}, 2, proper},
      {"bym2", {variance, {"mixing", "logit", 0.001, 0.999}}, 2, bym2},
      {"ar1", {variance, {"correlation", "atanh", -0.999, 0.999}}, 3, ar1},
      {"ar2", {variance, {"correlation", "atanh", -0.999, 0.999}, {"partial", "atanh", -0.999, 0.999}}, 6, ar2},
      {"spde", {{"range", "log", 1e-3, 1e2, true}, sd}, 3, spde},
      {"diagonal", {sd}, 1, scaled_by_sd},
      {"unstructured", {sd, cor}, 0, nullptr, &unstructured_effects},
      {"compound", {sd, cor}, 0, nullptr, &compound_effects},
      {"ar1_effects", {sd, cor}, 0, nullptr, &ar1_effects},
      {"toeplitz", {sd, cor}, 0, nullptr, &toeplitz_effects},
      {"independent", {sd}, 0, nullptr, &independent_effects},
  };
  return table;
}

const FieldModel& find_field_model(const std::string& name) {
  for (const FieldModel& model : field_models())
    if (model.name == name) return model;
  throw std::invalid_argument("unknown field model \"" + name + "\"");
}

std::vector<std::pair<std::string, std::vector<FieldParameter>>> field_facts() {
  std::vector<std::pair<std::string, std::vector<FieldParameter>>> out;
  for (const FieldModel& model : field_models())
    if (!model.hyper.empty()) out.emplace_back(model.name, model.hyper);
  return out;
}

}  // namespace galvi
