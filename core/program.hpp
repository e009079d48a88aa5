// A start's program: the tape without its inactive parameters, and the passes over it. Samples are processed
// in blocks small enough for the first-level cache. In the forward pass every operator stores its partial
// derivatives, so that the backward pass is the same multiply-add for all operators.
#pragma once
#include "compaction.hpp"
#include "operators.hpp"

namespace ceql::CEQL_ISA {

constexpr int unroll = 8;     // lanes that a sum keeps in registers
constexpr int dot_unroll = 4; // enough to hide the latency of a multiply-add
template <class T> constexpr int stride = unroll * lane_count<T>; // samples are padded to a multiple of this
template <class T> constexpr int block_size = 1024 / sizeof(T);   // 128 doubles, 256 floats

template <class T> inline void fill_zero(T *p, size_t count) { std::memset(p, 0, count * sizeof(T)); }

template <class T> struct Program : Compact<T> {
    const T **value;      // per slot, for the current block
    T **own;              // per slot of a node: where its values are stored
    T **adjoint;          // per slot, null for inputs
    const T **partial[3]; // per slot of an operator and argument
    T **partial_own[3];
    Lane<T> *dots;   // per parameter: the gradient, not yet summed over lanes
    uint64_t *moved; // per parameter, bit k: output k depends on it
};

// ---- building
// --------------------------------------------------------------------------------------------------

template <class T> void mark_moved(Program<T> &p, Arena &arena) {
    p.moved = take<uint64_t>(arena, p.n_params);
    for (int k = 0; k < p.n_params; ++k)
        p.moved[k] = 0;
    for (int i = p.n_instructions - 1; i >= 0; --i)
        for (int e = p.instructions[i].first; e < p.instructions[i].last; ++e)
            if (p.edges[e].parameter >= 0) {
                uint64_t &moved = p.moved[p.edges[e].parameter];
                p.edges[e].first_visit = (p.instructions[i].outputs & 1) && !(moved & 1);
                moved |= p.instructions[i].outputs;
            }
}

template <class T> Program<T> build(const TapeView &tape, const uint8_t *mask, Arena &arena) {
    Program<T> p;
    compact<T>(tape, mask, arena, p);
    mark_moved<T>(p, arena);
    p.value = take<const T *>(arena, p.n_slots);
    p.own = take<T *>(arena, p.n_slots);
    p.adjoint = take<T *>(arena, p.n_slots);
    for (int k = 0; k < 3; ++k) {
        p.partial[k] = take<const T *>(arena, p.n_slots);
        p.partial_own[k] = take<T *>(arena, p.n_slots);
    }
    for (int s = 0; s <= tape.n_inputs; ++s)
        p.adjoint[s] = nullptr;
    for (int i = 0; i < p.n_instructions; ++i) {
        const Instruction &in = p.instructions[i];
        const int s = in.slot;
        p.own[s] = take<T>(arena, block_size<T>);
        p.value[s] = p.own[s];
        p.adjoint[s] = take<T>(arena, block_size<T>);
        for (int k = 0; k < 3; ++k)
            if (in.args[k] >= 0) {
                p.partial_own[k][s] = in.op == MUL ? nullptr : take<T>(arena, block_size<T>);
                p.partial[k][s] = p.partial_own[k][s];
            }
    }
    p.dots = take<Lane<T>>(arena, p.n_params);
    return p;
}

template <class T> inline void set_parameters(Program<T> &p, const double *params) {
    for (int e = 0; e < p.n_edges; ++e)
        if (p.edges[e].parameter >= 0)
            p.edges[e].weight = p.edges[e].coefficient * T(params[p.edges[e].parameter]);
}

template <class T> inline int enter_block(Program<T> &p, const DataView<T> &data, int64_t start) {
    for (int s = 0; s <= p.n_inputs; ++s)
        p.value[s] = data.columns + s * data.padded + start;
    const int64_t left = data.padded - start;
    return left < block_size<T> ? int(left) : block_size<T>;
}

// ---- forward
// ---------------------------------------------------------------------------------------------------

template <class T> inline void forward_linear(const Program<T> &p, const Instruction &in, int n) {
    constexpr int w = lane_count<T>;
    T *out = p.own[in.slot];
    for (int i = 0; i < n; i += unroll * w) {
        Lane<T> s[unroll] = {};
        for (int e = in.first; e < in.last; ++e) {
            const Lane<T> weight = splat<T>(p.edges[e].weight);
            const T *x = p.value[p.edges[e].source] + i;
            for (int u = 0; u < unroll; ++u)
                s[u] += weight * load<T>(x + u * w);
        }
        for (int u = 0; u < unroll; ++u)
            store<T>(out + i + u * w, s[u]);
    }
}

template <class T, int OP, bool derivatives>
inline void forward_operator(const Program<T> &p, const Instruction &in, int n) {
    constexpr int w = lane_count<T>;
    const int s = in.slot;
    const int imaginary = op_shapes[OP].imaginary;
    const bool is_complex = imaginary >= 0 && in.args[imaginary] >= 0;
    const T *a = p.value[in.args[0]];
    const T *b = in.args[1] >= 0 ? p.value[in.args[1]] : nullptr;
    const T *c = in.args[2] >= 0 ? p.value[in.args[2]] : nullptr;
    T *out = p.own[s];
    for (int i = 0; i < n; i += w) {
        Lane<T> da = {}, db = {}, dc = {};
        const Lane<T> y = apply<T, OP>(load<T>(a + i), b ? load<T>(b + i) : Lane<T>{},
                                       c ? load<T>(c + i) : Lane<T>{}, is_complex, da, db, dc);
        store<T>(out + i, y);
        if constexpr (derivatives) {
            store<T>(p.partial_own[0][s] + i, da);
            if (b)
                store<T>(p.partial_own[1][s] + i, db);
            if (c)
                store<T>(p.partial_own[2][s] + i, dc);
        }
    }
}

template <class T, bool derivatives> void forward(Program<T> &p, int n) {
    constexpr int w = lane_count<T>;
    for (int k = 0; k < p.n_instructions; ++k) {
        const Instruction &in = p.instructions[k];
        switch (in.op) {
        case LINEAR:
            forward_linear<T>(p, in, n);
            break;
        case MUL: {
            const T *a = p.value[in.args[0]], *b = p.value[in.args[1]];
            for (int i = 0; i < n; i += w)
                store<T>(p.own[in.slot] + i, load<T>(a + i) * load<T>(b + i));
            // The partial derivatives of a product are its factors, which exist already.
            p.partial[0][in.slot] = b;
            p.partial[1][in.slot] = a;
            break;
        }
#define CEQL_OPERATOR(CODE, ...)                                                                             \
    case CODE:                                                                                               \
        forward_operator<T, CODE, derivatives>(p, in, n);                                                    \
        break;
#include "operator_table.hpp"
        }
    }
}

// ---- backward
// --------------------------------------------------------------------------------------------------

template <class T> inline void clear_adjoints(Program<T> &p, uint64_t outputs, int n) {
    for (int k = 0; k < p.n_instructions; ++k)
        if (p.instructions[k].outputs & outputs)
            fill_zero(p.adjoint[p.instructions[k].slot], n);
}

template <class T> inline void backward_operator(Program<T> &p, const Instruction &in, int n) {
    constexpr int w = lane_count<T>;
    const T *seed = p.adjoint[in.slot];
    for (int k = 0; k < 3; ++k) {
        if (in.args[k] < 0 || !p.adjoint[in.args[k]])
            continue;
        T *target = p.adjoint[in.args[k]];
        const T *partial = p.partial[k][in.slot];
        for (int i = 0; i < n; i += w)
            store<T>(target + i, load<T>(target + i) + load<T>(seed + i) * load<T>(partial + i));
    }
}

// Adds d(sum of seeds * outputs)/d parameter to p.dots. The adjoints of the outputs must hold the seeds.
template <class T> void backward_gradient(Program<T> &p, int n) {
    constexpr int w = lane_count<T>;
    for (int k = p.n_instructions - 1; k >= 0; --k) {
        const Instruction &in = p.instructions[k];
        if (in.op != LINEAR) {
            backward_operator<T>(p, in, n);
            continue;
        }
        const T *seed = p.adjoint[in.slot];
        for (int e = in.first; e < in.last; ++e) {
            const ActiveEdge<T> &edge = p.edges[e];
            const T *x = p.value[edge.source];
            Lane<T> dot[dot_unroll] = {};
            if (edge.leads_back) {
                T *target = p.adjoint[edge.source];
                const Lane<T> weight = splat<T>(edge.weight);
                for (int i = 0; i < n; i += dot_unroll * w)
                    for (int u = 0; u < dot_unroll; ++u) {
                        const int j = i + u * w;
                        const Lane<T> s = load<T>(seed + j);
                        dot[u] += s * load<T>(x + j);
                        store<T>(target + j, load<T>(target + j) + weight * s);
                    }
            } else {
                for (int i = 0; i < n; i += dot_unroll * w)
                    for (int u = 0; u < dot_unroll; ++u)
                        dot[u] += load<T>(seed + i + u * w) * load<T>(x + i + u * w);
            }
            if (edge.parameter >= 0)
                p.dots[edge.parameter] += edge.coefficient * ((dot[0] + dot[1]) + (dot[2] + dot[3]));
        }
    }
}

// Computes the derivatives of one output by parameter and sample, times the seeds in the output's adjoint.
// Column k of `jacobian` belongs to parameter k; only the pass for the model itself (output 0) is sure to
// touch every column.
template <class T> void backward_jacobian(Program<T> &p, int output, int n, T *jacobian) {
    constexpr int w = lane_count<T>;
    const uint64_t bit = uint64_t(1) << output;
    for (int k = 0; k < p.n_params; ++k)
        if (output != 0 || !(p.moved[k] & 1))
            fill_zero(jacobian + size_t(k) * block_size<T>, n);
    for (int k = p.n_instructions - 1; k >= 0; --k) {
        const Instruction &in = p.instructions[k];
        if (!(in.outputs & bit))
            continue;
        if (in.op != LINEAR) {
            backward_operator<T>(p, in, n);
            continue;
        }
        const T *seed = p.adjoint[in.slot];
        for (int e = in.first; e < in.last; ++e) {
            const ActiveEdge<T> &edge = p.edges[e];
            if (edge.leads_back) {
                T *target = p.adjoint[edge.source];
                const Lane<T> weight = splat<T>(edge.weight);
                for (int i = 0; i < n; i += w)
                    store<T>(target + i, load<T>(target + i) + weight * load<T>(seed + i));
            }
            if (edge.parameter < 0)
                continue;
            const T *x = p.value[edge.source];
            T *column = jacobian + size_t(edge.parameter) * block_size<T>;
            const Lane<T> c = splat<T>(edge.coefficient);
            if (output == 0 && edge.first_visit)
                for (int i = 0; i < n; i += w)
                    store<T>(column + i, c * load<T>(seed + i) * load<T>(x + i));
            else
                for (int i = 0; i < n; i += w)
                    store<T>(column + i, load<T>(column + i) + c * load<T>(seed + i) * load<T>(x + i));
        }
    }
}

} // namespace ceql::CEQL_ISA
