// The scan of pairs of terms, as Python sees it.
#pragma once
#include <nanobind/nanobind.h>

namespace ceql {

void bind_pairs(nanobind::module_ &m);

} // namespace ceql
