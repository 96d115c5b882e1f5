// What a prior says where the posterior of its columns has no inverse.
#pragma once

#include <stdexcept>

namespace galvi {

/// The posterior precision of columns with a flat prior is singular in double precision.
class CollinearColumns final : public std::domain_error {
 public:
  using std::domain_error::domain_error;
};

}  // namespace galvi
