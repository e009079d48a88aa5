// The Python interface to the scan of pairs of terms.
#pragma once
#include <nanobind/nanobind.h>

namespace ceql {

void bind_pairs(nanobind::module_ &m);

} // namespace ceql
