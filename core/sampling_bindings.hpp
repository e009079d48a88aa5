// Networks, priors and the starts of a round, as Python sees them.
#pragma once
#include <nanobind/nanobind.h>

namespace ceql {

void bind_sampling(nanobind::module_ &m);

} // namespace ceql
