// Responses that are normal on some scale, with censored or truncated rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "function/elementwise.h"
#include "function/normal.h"
#include "function/normal_interval.h"
#include "likelihood/positive_parameter.h"

namespace galvi {

/// s(y) ~ N(eta, sd^2) for an increasing function s of the response: with z(y) = (s(y) - eta) / sd
///   observed at y:   -z(y)^2 / 2 - log(2 pi) / 2 - log sd + log s'(y)
///   in (y, upper]:   log [Phi(z(upper)) - Phi(z(y))]
/// and, of a truncated row, -log Phi(-z(entry)). The second derivative of log Phi(-z) in z falls from 0 to
/// -1, so that truncated rows are concave in eta too.
template <class Base>
class CensoredNormal : public Base {
 public:
  CensoredNormal(const LikelihoodSpec& spec, PositiveParameter parameter)
      : parameter_(std::move(parameter)) {
    const auto entry = spec.constants.find("censored");
    censored_ = entry != spec.constants.end() && entry->second != 0.0;
  }
  void update(const ConstVectorRef& hyper) override { set(sd_of(parameter_.read(hyper))); }
  void set(double sd) { sd_ = sd; }

  double log_density(const Datum& datum, const double* eta) const override {
    return Row(*this, datum, *eta, sd_).log_density();
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    Row(*this, datum, eta, sd_).derivatives(out);
    double chain = 1.0;
    for (int k = 1; k < 5; ++k) out[k] *= chain /= sd_;
  }
  /// Columns of the constants, the last two only if some row is truncated or in an interval.
  enum Constant : Index {
    known,        // s of the response or of its one bound
    log_factor,   // log s'(y) - log(2 pi) / 2, not a number in censored rows
    side,         // of the one bound: 1 where the response is above it, -1 below; else 0
    width,        // s(upper) - s(y) of an interval, else 0
    since_entry   // s(y) - s(entry), infinite where there is no entry
  };
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    bool simple = true;
    out.constants.resize(out.size(), since_entry + 1);
    for (Index n = 0; n < out.size(); ++n) {
      const Datum datum = out.data[n];
      const double low = scaled(datum.y), high = datum.censored() ? scaled(datum.upper) : low;
      const bool above = high == infinity, below = low == -infinity, within = low < high && !above && !below;
      simple = simple && !within && !truncated(datum);
      out.constants.row(n) << (below ? high : low),
          datum.censored() ? std::numeric_limits<double>::quiet_NaN() : log_slope(datum.y) - log_sqrt_2pi,
          static_cast<double>(above) - static_cast<double>(below), within ? high - low : 0.0,
          truncated(datum) ? low - scaled(datum.entry) : infinity;
    }
    if (simple) out.constants.conservativeResize(out.size(), width);
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const double precision = 1.0 / sd_;
    with_standardised(rows, (eta.col(0) - rows.constants.col(known)).array() * precision, precision, std::log(sd_), out);
  }
  /// out <- log p where z = (eta - s) / sd, s of prepare(); not a number where digits are lost.
  template <class Sd>
  static void with_standardised(const PreparedRows& rows, const RowArray& z, const Sd& precision, const Sd& log_sd,
                                ArrayRef out) {
    constexpr double far = -20.0;
    const auto column = [&rows](Constant j) { return rows.constants.col(j).array(); };
    out = column(log_factor) - log_sd - 0.5 * z.square();
    const auto bounded = column(side) != 0.0;
    if (bounded.any()) {
      RowArray share = z * column(side);
      log_normal_cdf_each(share);
      out = bounded.select(share, out);
    }
    if (rows.constants.cols() <= width) return;
    const RowArray wide = precision * column(width);
    if ((wide > 0.0).any()) {
      RowArray share(rows.size());
      log_normal_share_each(-z, wide - z, share);
      out = (wide > 0.0).select(share, out);
    }
    RowArray entry = z + precision * column(since_entry);
    entry = (entry > far).select(entry, std::numeric_limits<double>::quiet_NaN());
    log_normal_cdf_each(entry);
    out -= entry;
  }
  // Zeros of Phi and of an interval's probability: see CumulativeProbit.
  Smoothness smoothness() const override { return {nearest_zero * sd_, 0.0}; }
  Smoothness smoothness(const Datum& datum) const override {
    if (plain(datum)) return {infinity, 0.0};
    const double low = truncated(datum) ? scaled(datum.entry) : scaled(datum.y);
    double high = datum.censored() ? scaled(datum.upper) : low;
    if (truncated(datum) && high == infinity) high = scaled(datum.y);
    if (high == infinity || high == low) return {2.816 * sd_, 0.0, low};
    if (low == -infinity) return {2.816 * sd_, 0.0, high};
    const double width = high - low;
    if (truncated(datum)) return {nearest_zero * sd_, 0.0, low + 0.5 * width, 0.5 * width};
    return {std::max(nearest_zero * sd_, 6.28318530717958647692 * sd_ * (sd_ / width)), 0.0,
            low + 0.5 * width, 0.5 * width};
  }
  bool log_concave() const override { return true; }

  // For rows that are neither censored nor truncated.
  bool has_closed_form() const override { return !censored_; }
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean,
                                              double variance) const override {
    if (!plain(datum)) return std::nullopt;
    const double precision = 1.0 / (sd_ * sd_), slope = (scaled(datum.y) - mean) * precision;
    return PointExpectation{
        log_density(datum, &mean) - 0.5 * variance * precision, slope, -0.5 * precision, -precision, 0.0,
        0.0};
  }

  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return normal_cdf((scaled(datum.y) - *eta) / sd_);
  }
  // s(y) ~ N(mean, variance + sd^2)
  std::optional<double> predictive_log_density(const Datum& datum, double mean,
                                               double variance) const override {
    if (truncated(datum)) return std::nullopt;
    return Row(*this, datum, mean, std::hypot(sd_, std::sqrt(variance))).log_density();
  }
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override {
    const double z = (scaled(datum.y) - mean) / std::hypot(sd_, std::sqrt(variance));
    return Tails{normal_cdf(z), normal_cdf(-z)};
  }
  std::optional<double> predictive_quantile(const Datum& /*row*/, double mean, double variance,
                                            double probability) const override {
    return response(mean + std::hypot(sd_, std::sqrt(variance)) * normal_quantile(probability));
  }

  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double slope = Row(*this, datum, *eta, sd_).slope_in_log_sd() / sd_;
    gradient[parameter_.position()] += weight * d_sd(sd_) * slope;
  }
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    if (!plain(datum)) return false;
    add_gradient(datum, mean, weight, gradient);
    gradient[parameter_.position()] += weight * d_sd(sd_) * *variance / (sd_ * sd_ * sd_);
    return true;
  }
  bool has_hyper() const override { return parameter_.in_table(); }
  Truncation truncation() const override { return Truncation::concave; }
  // That of a response censored into the interval.
  bool interval(const Datum& row, double eta, double out[5]) const override {
    derivatives(within(row), eta, out);
    return true;
  }
  bool add_interval_gradient(const Datum& row, double eta, double weight, VectorRef gradient) const override {
    add_gradient(within(row), &eta, weight, gradient);
    return true;
  }
  virtual double scaled(double y) const = 0;  // s
  /// Neither censored nor truncated.
  bool plain(const Datum& datum) const { return !datum.censored() && !truncated(datum); }
  /// For rows that are neither: their log density is that of s(y) plus this.
  virtual double log_slope(double y) const = 0;
  bool truncated(const Datum& datum) const { return scaled(datum.entry) > -infinity; }

 protected:
  virtual double response(double s) const = 0;  // its inverse
  virtual double sd_of(double parameter) const = 0;
  virtual double d_sd(double sd) const = 0;  // d sd / d parameter
  double sd() const { return sd_; }

 private:
  static constexpr double nearest_zero = 2.58;
  Datum within(const Datum& row) const { return {std::max(row.entry, this->support(row).low), row.size, row.exit}; }

  /// A row in units of sd: its log density as a function of eta / sd.
  struct Row {
    Row(const CensoredNormal& of, const Datum& datum, double eta, double sd)
        : censored(datum.censored()),
          truncated(of.truncated(datum)),
          centre(eta / sd),
          left(of.scaled(datum.y) / sd),
          right(censored ? of.scaled(datum.upper) / sd : left),
          low((of.scaled(datum.y) - eta) / sd),
          high(censored ? (of.scaled(datum.upper) - eta) / sd : low),
          entry(truncated ? (of.scaled(datum.entry) - eta) / sd : -infinity),
          gap(truncated ? (of.scaled(datum.y) - of.scaled(datum.entry)) / sd : 0.0),
          constant(censored ? 0.0 : of.log_slope(datum.y) - std::log(sd) - log_sqrt_2pi) {}

    // A value far beyond the entry is divided by an equally small probability; the difference of z^2 and
    // entry^2 is computed as a product.
    double log_density() const {
      if (far())
        return constant - 0.5 * gap * (low + entry) +
               (censored ? log_mills_ratio(low) : log_sqrt_2pi) - log_mills_ratio(entry);
      return constant + log_share() - (truncated ? log_normal_cdf(-entry) : 0.0);
    }
    void derivatives(double out[5]) const {
      double f[5];
      if (!censored) {
        out[1] = low;
        out[2] = -1.0;
        out[3] = out[4] = 0.0;
      } else if (high == infinity) {
        log_normal_cdf_derivatives(-low, out);
      } else if (low == -infinity) {
        log_normal_cdf_derivatives(high, out);
        out[1] = -out[1];
        out[3] = -out[3];
      } else {
        log_normal_interval_derivatives(left, right, centre, out);
      }
      const double excess = censored ? -out[2] / out[1] : 0.0;
      if (truncated) {
        log_normal_cdf_derivatives(-entry, f);
        for (int k = 1; k < 5; ++k) out[k] -= f[k];
        if (far()) out[1] = gap + excess + f[2] / f[1];
        out[2] = std::min(out[2], 0.0);
      }
      out[0] = log_density();
    }
    // sd d log p / d sd
    double slope_in_log_sd() const {
      if (far()) {
        const double own = censored ? low * excess_of(low) : -1.0;
        return gap * (low + entry) + own - entry * excess_of(entry);
      }
      double slope = low * low - 1.0;
      if (censored && high == infinity) {
        slope = hazard(low) * low;
      } else if (censored && low == -infinity) {
        slope = -hazard(-high) * high;
      } else if (censored) {
        // [z phi(z)] between the bounds is E t^2 - 1 of t ~ N(0, 1) there
        double f[5];
        log_normal_interval_derivatives(left, right, centre, f);
        slope = f[1] * f[1] + f[2];
      }
      return truncated ? slope - hazard(entry) * entry : slope;
    }

   private:
    bool far() const { return truncated && entry > 0.0 && (!censored || high == infinity); }
    double log_share() const {
      if (!censored) return -0.5 * low * low;
      if (high == infinity) return log_normal_cdf(-low);
      if (low == -infinity) return log_normal_cdf(high);
      return log_normal_interval(left, right, centre);
    }
    // phi(z) / Phi(-z), and its excess over z
    static double hazard(double z) {
      double f[5];
      log_normal_cdf_derivatives(-z, f);
      return f[1];
    }
    static double excess_of(double z) {
      double f[5];
      log_normal_cdf_derivatives(-z, f);
      return -f[2] / f[1];
    }
    bool censored, truncated;
    double centre, left, right;  // eta and the bounds, of which an interval's width is known better ..
    double low, high;            // .. than from these, z of the bounds
    double entry, gap, constant;
  };

  PositiveParameter parameter_;
  double sd_ = 1.0;
  bool censored_ = false;  // whether there are censored or truncated rows
};

}  // namespace galvi
