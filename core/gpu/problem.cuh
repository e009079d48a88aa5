// What the host hands over. The layout of these structs is written down once
// more in src/ceql/engine/gpu.py.
#pragma once
#include "../types.hpp"

namespace ceql::CEQL_ISA {

// Stages run one after the other on the same start, without a word to the host.
struct Stage {
    int64_t is_adam;
    AdamOptions adam;
    LevenbergOptions levenberg;
    Penalties penalties;
};

template <class T> struct Problem {
    TapeView tape;
    DataView<T> data;
    int64_t count;        // starts of this launch
    const int32_t *order; // their rows below
    const uint8_t *masks;
    double *params, *moments, *state; // the latter two may be null
    double *objective, *misfit;
    int64_t *iterations;
    int32_t *status;
    int32_t *needs;         // of the plan: bytes of shared memory and number of
                            // parameters, per row
    int32_t *counter;       // the next start to begin
    volatile int32_t *stop; // set by the host while the kernel runs
    char *scratch;          // per block
    int64_t scratch_size, normal_size;
    const Stage *stages;
    int64_t n_stages;
};

} // namespace ceql::CEQL_ISA
