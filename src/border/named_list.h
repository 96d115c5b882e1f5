// Writing R lists.
#pragma once

#include <Rcpp/Lightest>

#include <string>
#include <utility>
#include <vector>

namespace galvi {

/// A list that grows by name. Rcpp::List copies all elements and names whenever one is added, which takes as long as the
/// inference of a small model.
class NamedList {
 public:
  /// The element of that name, NULL where it is new.
  Rcpp::RObject& operator[](const std::string& name) {
    for (auto& [known, value] : elements_)
      if (known == name) return value;
    return elements_.emplace_back(name, Rcpp::RObject()).second;
  }

  Rcpp::List list() const {
    const auto size = static_cast<R_xlen_t>(elements_.size());
    Rcpp::List out(size);
    Rcpp::CharacterVector names(size);
    for (R_xlen_t i = 0; i < size; ++i) {
      names[i] = elements_[static_cast<std::size_t>(i)].first;
      out[i] = elements_[static_cast<std::size_t>(i)].second;
    }
    out.names() = names;
    return out;
  }

 private:
  std::vector<std::pair<std::string, Rcpp::RObject>> elements_;
};

}  // namespace galvi
