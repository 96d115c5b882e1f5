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
  class Element {
   public:
    Element(NamedList& list, const std::string& name) : list_(list), name_(name) {}
    /// The value is protected before the list grows, which allocates: R's garbage collector would take an SEXP that
    /// nothing holds.
    template <class T>
    void operator=(const T& value) {
      list_.put(name_, Rcpp::RObject(Rcpp::wrap(value)));
    }

   private:
    NamedList& list_;
    const std::string name_;
  };

  /// To be assigned to.
  Element operator[](const std::string& name) { return {*this, name}; }

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
  void put(const std::string& name, const Rcpp::RObject& value) {
    for (auto& [known, old] : elements_) {
      if (known != name) continue;
      old = value;
      return;
    }
    elements_.emplace_back(name, value);
  }

  std::vector<std::pair<std::string, Rcpp::RObject>> elements_;
};

}  // namespace galvi
