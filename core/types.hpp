// Plain data shared by the Python interface and the compute kernels. There are no function bodies here: the
// kernels are compiled once per instruction set, and an inline function compiled for one of them must never
// be called by another.
#pragma once
#ifdef __CUDACC_RTC__
#include "gpu/prelude.cuh"
#else
#include <atomic>
#include <cstddef>
#include <cstdint>
#endif

namespace ceql {

// Operators of a tape node. An argument is a slot; a complex argument is two slots (real part, imaginary
// part), where a missing imaginary part (-1) means "on the real axis". All values are real numbers.
enum Op : int32_t {
    LINEAR, // sum of coefficient * parameter * source over its edges
    MUL,    // a b; the partial derivatives are the factors, so it needs no rule
#define CEQL_OPERATOR(CODE, ...) CODE,
#include "operator_table.hpp"
    N_OPS
};

struct OpShape {
    int32_t arguments;
    int32_t imaginary; // the argument that may be absent, or -1
};
constexpr OpShape op_shapes[N_OPS] = {
    {0, -1}, // LINEAR has edges instead
    {2, -1}, // MUL
#define CEQL_OPERATOR(CODE, name, arguments, imaginary, ...) {arguments, imaginary},
#include "operator_table.hpp"
};

// Slots 0 .. n_inputs-1 are data columns, slot n_inputs is the constant one, then there is one slot per node.
struct Node {
    int32_t op;
    int32_t a, b, c; // argument slots; for LINEAR: first edge, number of edges, unused
};

struct Edge {
    int32_t source;    // slot
    int32_t parameter; // index, or -1 for a fixed coefficient
};

struct TapeView {
    int32_t n_inputs, n_nodes, n_edges, n_params, n_aux;
    int32_t output; // slot of the model's value
    const Node *nodes;
    const Edge *edges;
    const double *coefficients;  // one per edge
    const int32_t *aux;          // slots that should be zero: their mean square is a penalty
    const int32_t *partner;      // per parameter: the imaginary part that belongs to it, or -1
    const double *lower, *upper; // per parameter
};

template <class T> struct DataView {
    int64_t n, padded;   // padded samples repeat sample 0 with weight 0
    const T *columns;    // (n_inputs + 1) x padded; the last column is one
    const T *y, *weight; // weight already divided by n
};

// A matrix that maps weighted samples to fewer rows before squares are summed.
template <class T> struct Mixing {
    int64_t kept, padded; // number of rows; 0 if samples are not mixed
    const T *by_sample;   // per sample, its coefficient in every row; the padding is zero
};

// The view of a table for the CPU kernels.
template <class T> struct SampleView : DataView<T> {
    Mixing<T> mixing;
};

struct Penalties {
    const double *ridge; // per parameter: ridge * p^2
    double lasso;        // lasso * sum |p|; a parameter and its partner count as one complex number
    double aux;          // aux * mean square of every auxiliary slot
};

struct AdamOptions {
    int64_t steps;
    double rate, beta1, beta2, epsilon;
    // Reduce-on-plateau; patience 0 switches it off.
    int64_t patience;
    double factor, minimum_rate, threshold;
    bool keep_best; // return the best parameters found, not the last ones
};

struct LevenbergOptions {
    int64_t iterations;
    double damping;         // initial, relative to the diagonal of J'J
    double target;          // stop when the misfit falls below this
    double least_reduction; // stop when an accepted step reduces the objective by less than this fraction
    bool separable;         // solve for the weights of the last sum at every step, by QR of J
};

enum Status : int32_t { RAN_OUT = 0, CONVERGED = 1, NOT_FINITE = 2, STOPPED = 3 };

struct Start {
    const uint8_t *mask; // per parameter: 0 holds it at zero and drops its edges
    double *params;      // in and out
    double *moments;     // Adam's first and second moments (2 x n_params) or null; in and out
    double *state;       // Adam's {step count, rate, best loss, bad steps}, or null; in and out
    double objective, misfit;
    int64_t iterations;
    int32_t status;
};

#ifndef __CUDACC_RTC__ // the GPU has its own memory, threads and entry point

constexpr const char *op_names[N_OPS] = {
    "linear",
    "mul",
#define CEQL_OPERATOR(CODE, name, ...) name,
#include "operator_table.hpp"
};

// Memory that is allocated in pieces during one start and released as a whole.
class Arena {
public:
    void *take(size_t bytes); // aligned to 64 bytes, not initialised
    void reset();
    Arena();
    ~Arena();
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

private:
    struct Chunk;
    Chunk *first_, *current_;
};

// A scan of pairs of terms, each a few orthonormal directions with a sum projected out. The rest, which that
// sum leaves, has length one. First terms come in blocks of `pair_rows`; the last block is padded with zeros.
constexpr int pair_rows = 4;
template <class T> struct PairScan {
    int32_t width, other_width; // directions of a first term, and of a second one: 1 or 2
    int64_t rows, count, others;
    const T *first;                 // (blocks, width, rows, pair_rows)
    const T *second;                // (other_width, rows, others)
    const T *along;                 // (blocks, width, pair_rows): the rest along the directions of the first
    const T *rest;                  // (other_width, others): the rest along those of the second
    const T *present;               // (other_width, others): 1 if a direction exists, else 0
    const T *prices, *other_prices; // of first terms, in blocks, and of second ones
    T weight;                       // weight of the logarithm of the unexplained share in a score
    T least_left;                   // a direction is ignored if the first term leaves less of its square
    T too_much;                     // explained shares from here on are due to rounding and count as zero
    T rounding;                     // lower limit on the unexplained share in a score
    bool ordered;                   // both are the same list, and the second term comes after the first
};

// Polled by the kernels every few steps.
using StopSignal = const std::atomic<int32_t> &;

// The entry points of one instruction set for one precision.
template <class T> struct Kernel {
    int32_t lane_count;
    void (*values)(const TapeView &, const DataView<T> &, Start &, double *out, Arena &);
    void (*jacobian)(const TapeView &, const DataView<T> &, Start &, double *values, double *out, Arena &);
    void (*gradient)(const TapeView &, const DataView<T> &, const Penalties &, Start &, double *out, Arena &);
    void (*objective)(const TapeView &, const DataView<T> &, const Penalties &, Start &, Arena &);
    void (*adam)(const TapeView &, const DataView<T> &, const Penalties &, const AdamOptions &, Start &,
                 StopSignal, Arena &);
    void (*levenberg)(const TapeView &, const SampleView<T> &, const Penalties &, const LevenbergOptions &,
                      Start &, StopSignal, Arena &);
    void (*lay_out_panel)(const PairScan<T> &, int64_t first, T *panel);
    void (*pair_gains)(const PairScan<T> &, int64_t first, const T *panel, int64_t block, T wanted, T *gain,
                       T *score, T *best);
};

#endif

} // namespace ceql
