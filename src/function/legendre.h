// Nodes and weights for the integral over an interval of a smooth function.
#pragma once

#include <cmath>
#include <vector>

namespace galvi {

/// The Gauss-Legendre rule on (0, 1).
struct LegendreRule {
  explicit LegendreRule(int n) : node(n), weight(n) {
    for (int i = 0; i < n; ++i) {
      double x = std::cos(3.14159265358979323846 * (i + 0.75) / (n + 0.5)), slope = 1.0;
      for (int newton = 0; newton < 10; ++newton) {
        double p = x, before = 1.0;  // P_k(x) by its recurrence
        for (int k = 2; k <= n; ++k) {
          const double next = ((2 * k - 1) * x * p - (k - 1) * before) / k;
          before = p;
          p = next;
        }
        slope = n * (x * p - before) / (x * x - 1.0);
        x -= p / slope;
      }
      node[i] = 0.5 * (1.0 - x);
      weight[i] = 1.0 / ((1.0 - x * x) * slope * slope);
    }
  }
  std::vector<double> node, weight;
};

}  // namespace galvi
