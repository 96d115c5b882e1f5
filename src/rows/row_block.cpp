#include "rows/row_block.h"

namespace galvi {

namespace {

template <class T>
T pick(const T& x, const std::vector<Index>& places) {
  if (x.rows() == 0) return x;
  T out(static_cast<Index>(places.size()), x.cols());
  for (Index j = 0; j < x.cols(); ++j)
    for (std::size_t i = 0; i < places.size(); ++i) out(static_cast<Index>(i), j) = x(places[i], j);
  return out;
}

}  // namespace

Data Data::at(const std::vector<Index>& places) const {
  Data out;
  for_fields([&](const char*, const auto& all, auto& some) { some = pick(all, places); }, *this, out);
  return out;
}

Data Data::slice(Index begin, Index count) const {
  Data out;
  for_fields([&](const char*, const auto& all, auto& some) {
    if (all.rows() > 0) some = all.middleRows(begin, count);
  }, *this, out);
  return out;
}

RowBlock RowBlock::at(const std::vector<Index>& places) const {
  RowBlock out;
  out.data = data.at(places);
  out.offset = pick(offset, places);
  for (const auto& design : designs) {
    auto own = std::make_shared<DesignRows>();
    for (const TermRows& rows : design->terms)
      own->terms.push_back(rows.map([&](const auto& part) { return pick(part, places); }));
    out.designs.push_back(std::move(own));
  }
  return out;
}

}  // namespace galvi
