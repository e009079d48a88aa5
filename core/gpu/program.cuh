// The passes of a warp over its program, tile by tile of K samples a thread.
//
// Warps are at different places in the program, and fetching instructions limits their speed. So all loops
// here and in the headers built on this stay rolled, except the innermost: shorter code was 15 % faster, and
// the longer the code, the slower it was.
#pragma once
#include "../operators.hpp"
#include "../rules.hpp"
#include "layout.cuh"

namespace ceql::CEQL_ISA {

constexpr int column_pitch = warp + 4; // avoids bank conflicts when fragments of the Jacobian are read
constexpr int n_vectors = 9;           // number of vectors with one double per parameter, see Fit

// Everything a warp has in shared memory, as offsets. It is itself at the beginning of shared memory: in
// local memory every thread would have a copy, and those of sixteen warps exceed the first-level cache.
template <class T, int K> struct Fit {
    int n, n_steps, n_links, n_loads, n_outputs, n_cells, first_adjoint;
    int steps, links, terms, term_first, loads, outputs, partner, param_index;
    int order, pivot; // for separable least squares: per column, its parameter and its row in R
    int params, lower, upper, ridge, a, b, c, d,
        e; // vectors; the last five have different meanings in Adam and LM
    int columns,
        cells; // columns and cells together are also the work space of the solver
    int bytes;
    int64_t n_samples, padded;
    const T *data, *y, *weight;
    double lasso, aux_weight; // the latter applies to each sample
    bool uses_aux;
};

inline int lane_id() { return threadIdx.x; }

// Returned by value, so that the members in use go into registers.
template <class T, int K> inline Fit<T, K> own_fit() { return *shared_at<Fit<T, K>>(0); }

template <class T, int K> Fit<T, K> map_memory(const Plan<T> &plan) {
    Fit<T, K> f;
    int at = in_whole_units(sizeof(Fit<T, K>), 16);
    const auto room = [&at](int bytes) {
        const int here = at;
        at += in_whole_units(bytes, 16);
        return here;
    };
    const int n = plan.n_params;
    f.n = n;
    f.n_steps = plan.n_steps;
    f.n_links = plan.n_links;
    f.n_loads = plan.n_loads;
    f.n_outputs = plan.n_outputs;
    f.n_cells = plan.n_cells;
    f.first_adjoint = plan.first_adjoint;
    f.steps = room(plan.n_steps * sizeof(Step));
    f.links = room(plan.n_links * sizeof(Link<T>));
    f.terms = room(plan.n_terms * sizeof(Term<T>));
    f.term_first = room((n + 1) * sizeof(uint16_t));
    f.loads = room(plan.n_loads * sizeof(Load));
    f.outputs = room(plan.n_outputs * sizeof(Output));
    f.partner = room(n * sizeof(int32_t));
    f.param_index = room(n * sizeof(int32_t));
    f.order = room(n * sizeof(int32_t));
    f.pivot = room((n + 1) * sizeof(int32_t));
    int *const vectors[n_vectors] = {&f.params, &f.lower, &f.upper, &f.ridge, &f.a, &f.b, &f.c, &f.d, &f.e};
    for (int k = 0; k < n_vectors; ++k)
        *vectors[k] = room(n * sizeof(double));
    f.columns = room(in_whole_units(n + 1, 8) * column_pitch * sizeof(T));
    f.cells = room(plan.n_cells * K * warp * sizeof(T));
    const int work = f.columns + (n + 2) * ((n + 1) | 1) * int(sizeof(double));
    f.bytes = at > work ? at : in_whole_units(work, 16);
    return f;
}

template <class V> inline void copy_to_shared(int offset, const V *source, int count) {
    const int words = count * int(sizeof(V)) / 4;
    for (int k = lane_id(); k < words; k += warp)
        shared_at<int32_t>(offset)[k] = reinterpret_cast<const int32_t *>(source)[k];
}

template <class T, int K> inline T *cell(const Fit<T, K> &f, int index) {
    return shared_at<T>(f.cells) + index * (K * warp);
}

template <class T, int K> inline void set_parameters(const Fit<T, K> &f, int params) {
    __syncwarp();
#pragma unroll 1
    for (int e = lane_id(); e < f.n_links; e += warp) {
        Link<T> &link = shared_at<Link<T>>(f.links)[e];
        if (link.parameter != none)
            link.weight = link.coefficient * T(shared_at<double>(params)[link.parameter]);
    }
    __syncwarp();
}

template <class T, int K> inline void enter_tile(const Fit<T, K> &f, int64_t start) {
#pragma unroll 1
    for (int k = 0; k < f.n_loads; ++k) {
        const Load load = shared_at<Load>(f.loads)[k];
        for (int u = 0; u < K; ++u)
            cell(f, load.cell)[u * warp + lane_id()] =
                f.data[load.column * f.padded + start + u * warp + lane_id()];
    }
}

template <class T, int K, int OP>
inline void forward_operator(const Fit<T, K> &f, const Step &step, bool derivatives) {
    constexpr int arguments = op_shapes[OP].arguments;
#pragma unroll 1 // the operators are already long for the instruction cache
    for (int u = 0; u < K; ++u) {
        const int i = u * warp + lane_id();
        T da = 0, db = 0, dc = 0, b = 0, c = 0;
        const T a = cell(f, step.args[0])[i];
        if (arguments > 1 && step.args[1] != none)
            b = cell(f, step.args[1])[i];
        if (arguments > 2 && step.args[2] != none)
            c = cell(f, step.args[2])[i];
        cell(f, step.value)[i] = apply<T, OP>(a, b, c, step.is_complex, da, db, dc);
        if (derivatives) {
            if (step.partial[0] != none)
                cell(f, step.partial[0])[i] = da;
            if (arguments > 1 && step.partial[1] != none)
                cell(f, step.partial[1])[i] = db;
            if (arguments > 2 && step.partial[2] != none)
                cell(f, step.partial[2])[i] = dc;
        }
    }
}

template <class T, int K> inline void forward_linear(const Fit<T, K> &f, const Step &step) {
    T sum[K] = {};
    for (int e = step.first; e < step.last; ++e) {
        const Link<T> &link = shared_at<Link<T>>(f.links)[e];
        const T weight = link.weight;
        const T *x = cell(f, link.x) + lane_id();
        for (int u = 0; u < K; ++u)
            sum[u] += weight * x[u * warp];
    }
    for (int u = 0; u < K; ++u)
        cell(f, step.value)[u * warp + lane_id()] = sum[u];
}

// A separate function that is not inlined: inside a larger one it would run out of registers.
template <class T, int K> __noinline__ void forward(bool derivatives) {
    const Fit<T, K> f = own_fit<T, K>();
    for (int k = 0; k < f.n_steps; ++k) {
        const Step step = shared_at<Step>(f.steps)[k];
        switch (step.op) {
        case LINEAR:
            forward_linear<T, K>(f, step);
            break;
        case MUL: // the partial derivatives are the factors, which exist
                  // already
            for (int i = lane_id(); i < K * warp; i += warp)
                cell(f, step.value)[i] = cell(f, step.args[0])[i] * cell(f, step.args[1])[i];
            break;
#define CEQL_OPERATOR(CODE, ...)                                                                             \
    case CODE:                                                                                               \
        forward_operator<T, K, CODE>(f, step, derivatives);                                                  \
        break;
#include "../operator_table.hpp"
        }
    }
}

// Sets adjoints to which several steps contribute to zero; each of the others is
// set by a single step. The adjoint of the model's value may be of either kind,
// and is seeded after this.
template <class T, int K> inline void clear_adjoints(const Fit<T, K> &f) {
#pragma unroll 1
    for (int k = f.first_adjoint; k < f.n_cells; ++k)
        for (int u = 0; u < K; ++u)
            cell(f, k)[u * warp + lane_id()] = T(0);
}

template <class T, int K>
inline void send_back(const Fit<T, K> &f, const Step &step, int k, int i, T contribution) {
    if (step.target[k] == none)
        return;
    T &adjoint = cell(f, step.target[k])[i];
    adjoint = step.adds >> k & 1 ? adjoint + contribution : contribution;
}

template <class T, int K> inline void backward_operator(const Fit<T, K> &f, const Step &step) {
    for (int i = lane_id(); i < K * warp; i += warp) {
        const T seed = cell(f, step.adjoint)[i];
        if (step.op == MUL) {
            const T a = cell(f, step.args[0])[i], b = cell(f, step.args[1])[i];
            send_back(f, step, 0, i, seed * b);
            send_back(f, step, 1, i, seed * a);
            continue;
        }
        for (int k = 0; k < 3; ++k)
            if (step.partial[k] != none)
                send_back(f, step, k, i, seed * cell(f, step.partial[k])[i]);
    }
}

// Propagates the adjoints of the wanted outputs back to every sum. Sources of
// sums always have an adjoint of their own.
template <class T, int K> __noinline__ void backward(uint64_t wanted) {
    const Fit<T, K> f = own_fit<T, K>();
    for (int k = f.n_steps - 1; k >= 0; --k) {
        const Step step = shared_at<Step>(f.steps)[k];
        if (!(step.outputs & wanted))
            continue;
        if (step.op != LINEAR) {
            backward_operator<T, K>(f, step);
            continue;
        }
        T seed[K];
        for (int u = 0; u < K; ++u)
            seed[u] = cell(f, step.adjoint)[u * warp + lane_id()];
        for (int e = step.first; e < step.last; ++e) {
            const Link<T> &link = shared_at<Link<T>>(f.links)[e];
            if (link.target == none)
                continue;
            T *adjoint = cell(f, link.target) + lane_id();
            for (int u = 0; u < K; ++u)
                adjoint[u * warp] += link.weight * seed[u];
        }
    }
}

} // namespace ceql::CEQL_ISA
