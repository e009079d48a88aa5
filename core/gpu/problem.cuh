// The data that the host passes to the GPU. src/ceql/engine/gpu_structs.py
// repeats the layout of these structs.
#pragma once
#include "../types.hpp"

namespace ceql::CEQL_ISA {

// Stages run one after another on the same start, without contacting the host.
struct Stage {
    int64_t is_adam;
    AdamOptions adam;
    LevenbergOptions levenberg;
    Penalties penalties;
};

template <class T> struct Problem {
    TapeView tape;
    DataView<T> data;
    int64_t count;        // number of starts in this launch
    const int32_t *order; // their rows in the arrays below
    const uint8_t *masks;
    double *params, *moments, *state; // the latter two may be null
    double *objective, *misfit;
    int64_t *iterations;
    int32_t *status;
    int32_t *needs;         // result of planning: bytes of shared memory and number
                            // of parameters, per row
    int32_t *counter;       // next start to begin
    volatile int32_t *stop; // set by the host while the kernel runs
    char *scratch;          // scratch memory of each block
    int64_t scratch_size, normal_size;
    const Stage *stages;
    int64_t n_stages;
};

} // namespace ceql::CEQL_ISA
