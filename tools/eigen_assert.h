// Included before everything else by tools/sanitize.R: a broken size is an R error and not an abort.
#pragma once

#include <stdexcept>
#include <string>

#define GALVI_TEXT_(x) #x
#define GALVI_TEXT(x) GALVI_TEXT_(x)
#define eigen_assert(condition)                                                                        \
  do {                                                                                                 \
    if (!(condition)) throw std::logic_error("Eigen, " __FILE__ ":" GALVI_TEXT(__LINE__) ": " #condition); \
  } while (false)
