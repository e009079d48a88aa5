// The Python interface to networks, priors and the starts of a round.
#pragma once
#include <nanobind/nanobind.h>

namespace ceql {

void bind_sampling(nanobind::module_ &m);

} // namespace ceql
