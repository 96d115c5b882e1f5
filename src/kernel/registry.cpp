#include "kernel/compose.h"
#include "kernel/constant.h"
#include "kernel/linear.h"
#include "kernel/matern12.h"
#include "kernel/matern32.h"
#include "kernel/matern52.h"
#include "kernel/periodic.h"
#include "kernel/polynomial.h"
#include "kernel/rational_quadratic.h"
#include "kernel/se.h"
#include "kernel/white.h"

namespace galvi {

namespace {

template <class T>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  return std::make_unique<T>(spec);
}

struct Entry {
  const char* type;
  std::unique_ptr<Kernel> (*make)(const KernelSpec&);
};

const Entry registry[] = {
    {"se", make<SquaredExponential>},
    {"matern12", make<Matern12>},
    {"matern32", make<Matern32>},
    {"matern52", make<Matern52>},
    {"rational_quadratic", make<RationalQuadratic>},
    {"periodic", make<Periodic>},
    {"linear", make<Linear>},
    {"polynomial", make<Polynomial>},
    {"constant", make<Constant>},
    {"white", make<White>},
    {"sum", make<Sum>},
    {"product", make<Product>},
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const KernelSpec& spec) {
  for (const Entry& entry : registry) {
    if (spec.type == entry.type) return entry.make(spec);
  }
  throw std::invalid_argument("unknown kernel '" + spec.type + "'");
}

std::vector<std::string> kernel_types() {
  std::vector<std::string> types;
  for (const Entry& entry : registry) types.push_back(entry.type);
  return types;
}

}  // namespace galvi
