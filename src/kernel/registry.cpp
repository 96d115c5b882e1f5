#include "kernel/arc_cosine.h"
#include "kernel/compose.h"
#include "kernel/constant.h"
#include "kernel/cosine.h"
#include "kernel/custom.h"
#include "kernel/integrated_wiener.h"
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
  KernelFacts (*facts)();
};

template <class T>
Entry entry(const char* type) {
  return {type, make<T>, T::facts};
}

const Entry registry[] = {
    entry<SquaredExponential>("se"),
    entry<Matern12>("matern12"),
    entry<Matern32>("matern32"),
    entry<Matern52>("matern52"),
    entry<RationalQuadratic>("rational_quadratic"),
    entry<Periodic>("periodic"),
    entry<Cosine>("cosine"),
    entry<IntegratedWiener>("integrated_wiener"),
    entry<Linear>("linear"),
    entry<Polynomial>("polynomial"),
    entry<ArcCosine>("arc_cosine"),
    entry<Constant>("constant"),
    entry<White>("white"),
    entry<Sum>("sum"),
    entry<Product>("product"),
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const KernelSpec& spec) {
  if (spec.functions) return std::make_unique<CustomKernel>(spec);
  for (const Entry& entry : registry) {
    if (spec.type == entry.type) return entry.make(spec);
  }
  throw std::invalid_argument("unknown kernel '" + spec.type + "'");
}

std::vector<std::unique_ptr<Kernel>> make_kernels(const std::vector<KernelSpec>& specs) {
  std::vector<std::unique_ptr<Kernel>> out;
  for (const KernelSpec& spec : specs) out.push_back(make_kernel(spec));
  return out;
}

std::vector<std::pair<std::string, KernelFacts>> kernel_facts() {
  std::vector<std::pair<std::string, KernelFacts>> out;
  for (const Entry& entry : registry) out.emplace_back(entry.type, entry.facts());
  return out;
}

}  // namespace galvi
