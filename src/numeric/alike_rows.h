// Rows that repeat an earlier one, as many do where designs are of factors, need no work of their own.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "numeric/types.h"

namespace galvi {

/// The rows asked for so far that differ from each other.
class AlikeRows {
 public:
  /// most: how many rows are asked for
  explicit AlikeRows(Index most) {
    std::size_t size = 16;
    while (size < 2 * static_cast<std::size_t>(most)) size *= 2;
    slots_.resize(size);
  }
  /// The first row asked for that has the same numbers; n itself where no earlier one has.
  /// numbers(n, add): calls add(x) for each number of row n.
  template <class Numbers>
  Index first(Index n, const Numbers& numbers) {
    read(n, numbers, here_);
    const std::uint64_t hash = hash_of(here_);
    const std::size_t last = slots_.size() - 1;
    for (std::size_t at = hash & last;; at = (at + 1) & last) {
      Slot& slot = slots_[at];
      if (slot.row < 0) {
        slot = {hash, n};
        return n;
      }
      if (slot.hash != hash) continue;
      read(slot.row, numbers, there_);
      if (same(here_, there_)) return slot.row;
    }
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    Index row = -1;
  };

  template <class Numbers>
  static void read(Index n, const Numbers& numbers, std::vector<double>& out) {
    out.clear();
    numbers(n, [&out](double x) { out.push_back(x + 0.0); });  // -0 is 0
  }
  // The same bits, of what is not a number too.
  static bool same(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
  }
  static std::uint64_t hash_of(const std::vector<double>& numbers) {
    std::uint64_t out = 0;
    for (const double x : numbers) {
      std::uint64_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      out = (out ^ bits) * 0x9E3779B97F4A7C15u;  // 2^64 over the golden ratio
      out ^= out >> 32;
    }
    return out;
  }

  std::vector<Slot> slots_;  // a power of two
  std::vector<double> here_, there_;
};

}  // namespace galvi
