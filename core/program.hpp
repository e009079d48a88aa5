// A start's program: the tape with its inactive parameters removed, and the passes over it. Samples are
// walked in blocks small enough for the first-level cache; every operator leaves its partial derivatives
// behind on the way forward, so that the way back is the same multiply-add for all of them.
#pragma once
#include "lanes.hpp"
#include "types.hpp"

namespace ceql::CEQL_ISA {

constexpr int unroll = 8;     // lanes a sum keeps in registers
constexpr int dot_unroll = 4; // enough to hide the latency of a multiply-add
template <class T> constexpr int stride = unroll * lane_count<T>; // samples are padded to a multiple of this
template <class T> constexpr int block_size = 1024 / sizeof(T);   // 128 doubles, 256 floats

template <class T> inline T *take(Arena &arena, size_t count) {
    return static_cast<T *>(arena.take((count ? count : 1) * sizeof(T)));
}
template <class T> inline void fill_zero(T *p, size_t count) { std::memset(p, 0, count * sizeof(T)); }

template <class T> struct ActiveEdge {
    int32_t source;    // slot
    int32_t parameter; // among the active ones, or -1
    T coefficient, weight;
    bool leads_back;  // the source is a node, so its adjoint is wanted
    bool first_visit; // on the way back, the first to touch its parameter
};

struct Instruction {
    int32_t op, slot;
    int32_t args[3];     // slots, -1 when absent
    int32_t first, last; // edges of a LINEAR
    uint64_t outputs;    // bit k: output k depends on it
};

template <class T> struct Program {
    int n_slots, n_inputs, n_instructions, n_params, n_outputs;
    Instruction *instructions;
    ActiveEdge<T> *edges;
    int n_edges;
    int32_t *param_index; // active parameter -> tape parameter
    int32_t *partner;     // active parameter -> active partner, -1 none, -2 is itself a partner
    int32_t outputs[64];  // slots; the model's first
    const T **value;      // per slot, for the present block
    T **own;              // per slot of a node: where its values go
    T **adjoint;          // per slot, null for inputs
    const T **partial[3]; // per slot of an operator and argument
    T **partial_own[3];
    uint8_t *reached; // per parameter: the model depends on it, not only a penalty
    Lane<T> *dots;    // per parameter: the gradient before lanes are added up
};

// ---- building
// --------------------------------------------------------------------------------------------------

inline bool edge_is_active(const uint8_t *mask, const Edge &edge) {
    return edge.parameter < 0 || !mask || mask[edge.parameter];
}

// An imaginary part without a single active edge is zero everywhere: the operator then takes its real form.
inline bool is_empty_sum(const TapeView &tape, const uint8_t *mask, int32_t slot) {
    if (slot <= tape.n_inputs)
        return false;
    const Node &node = tape.nodes[slot - tape.n_inputs - 1];
    if (node.op != LINEAR)
        return false;
    for (int32_t e = node.a; e < node.a + node.b; ++e)
        if (edge_is_active(mask, tape.edges[e]))
            return false;
    return true;
}

template <class T>
void mark_live(const TapeView &tape, const uint8_t *mask, int32_t slot, uint64_t bit, uint64_t *live) {
    // Nodes only refer to earlier slots, so one sweep downwards is enough.
    const int base = tape.n_inputs + 1;
    live[slot] |= bit;
    for (int32_t s = slot; s >= base; --s) {
        if (!(live[s] & bit))
            continue;
        const Node &node = tape.nodes[s - base];
        if (node.op == LINEAR) {
            for (int32_t e = node.a; e < node.a + node.b; ++e)
                if (edge_is_active(mask, tape.edges[e]))
                    live[tape.edges[e].source] |= bit;
        } else {
            const int32_t args[3] = {node.a, node.b, node.c};
            const int imaginary = op_shapes[node.op].imaginary;
            for (int k = 0; k < 3; ++k)
                if (args[k] >= 0 && !(k == imaginary && is_empty_sum(tape, mask, args[k])))
                    live[args[k]] |= bit;
        }
    }
}

// An auxiliary slot counts only while every sum it looks at belongs to the model.
inline bool aux_is_live(const TapeView &tape, const uint64_t *live, int32_t slot) {
    const int base = tape.n_inputs + 1;
    if (slot < base)
        return false;
    const Node &node = tape.nodes[slot - base];
    return node.op == LINEAR ? (live[slot] & 1) : (live[node.a] & 1);
}

template <class T> Program<T> build(const TapeView &tape, const uint8_t *mask, Arena &arena) {
    Program<T> p;
    const int base = tape.n_inputs + 1;
    p.n_inputs = tape.n_inputs;
    p.n_slots = base + tape.n_nodes;
    uint64_t *live = take<uint64_t>(arena, p.n_slots);
    fill_zero(live, p.n_slots);
    mark_live<T>(tape, mask, tape.output, 1, live);
    p.n_outputs = 1;
    p.outputs[0] = tape.output;
    for (int k = 0; k < tape.n_aux && p.n_outputs < 64; ++k)
        if (aux_is_live(tape, live, tape.aux[k]))
            p.outputs[p.n_outputs++] = tape.aux[k];
    for (int k = 1; k < p.n_outputs; ++k)
        mark_live<T>(tape, mask, p.outputs[k], uint64_t(1) << k, live);

    p.instructions = take<Instruction>(arena, tape.n_nodes);
    p.edges = take<ActiveEdge<T>>(arena, tape.n_edges);
    p.param_index = take<int32_t>(arena, tape.n_params);
    p.partner = take<int32_t>(arena, tape.n_params);
    p.value = take<const T *>(arena, p.n_slots);
    p.own = take<T *>(arena, p.n_slots);
    p.adjoint = take<T *>(arena, p.n_slots);
    for (int k = 0; k < 3; ++k) {
        p.partial[k] = take<const T *>(arena, p.n_slots);
        p.partial_own[k] = take<T *>(arena, p.n_slots);
    }
    int32_t *active = take<int32_t>(arena, tape.n_params);
    for (int k = 0; k < tape.n_params; ++k)
        active[k] = -1;
    p.n_params = p.n_instructions = p.n_edges = 0;
    for (int s = 0; s < base; ++s)
        p.adjoint[s] = nullptr;
    for (int s = base; s < p.n_slots; ++s) {
        if (!live[s])
            continue;
        const Node &node = tape.nodes[s - base];
        Instruction &in = p.instructions[p.n_instructions++];
        in = {node.op, s, {-1, -1, -1}, p.n_edges, p.n_edges, live[s]};
        p.own[s] = take<T>(arena, block_size<T>);
        p.value[s] = p.own[s];
        p.adjoint[s] = take<T>(arena, block_size<T>);
        if (node.op == LINEAR) {
            for (int32_t e = node.a; e < node.a + node.b; ++e) {
                const Edge &edge = tape.edges[e];
                if (!edge_is_active(mask, edge))
                    continue;
                int32_t parameter = -1;
                if (edge.parameter >= 0) {
                    if (active[edge.parameter] < 0) {
                        p.param_index[p.n_params] = edge.parameter;
                        active[edge.parameter] = p.n_params++;
                    }
                    parameter = active[edge.parameter];
                }
                const T c = T(tape.coefficients[e]);
                p.edges[p.n_edges++] = {edge.source, parameter, c, c, edge.source >= base, false};
            }
            in.last = p.n_edges;
        } else {
            const int32_t args[3] = {node.a, node.b, node.c};
            const int imaginary = op_shapes[node.op].imaginary;
            for (int k = 0; k < 3; ++k) {
                if (args[k] < 0 || (k == imaginary && is_empty_sum(tape, mask, args[k])))
                    continue;
                in.args[k] = args[k];
                p.partial_own[k][s] = node.op == MUL ? nullptr : take<T>(arena, block_size<T>);
                p.partial[k][s] = p.partial_own[k][s];
            }
        }
    }
    for (int k = 0; k < p.n_params; ++k) {
        const int32_t other = tape.partner ? tape.partner[p.param_index[k]] : -1;
        p.partner[k] = other >= 0 ? active[other] : -1;
    }
    for (int k = 0; k < p.n_params; ++k)
        if (p.partner[k] >= 0)
            p.partner[p.partner[k]] = -2;
    p.reached = take<uint8_t>(arena, p.n_params);
    fill_zero(p.reached, p.n_params);
    for (int i = p.n_instructions - 1; i >= 0; --i)
        for (int e = p.instructions[i].first; e < p.instructions[i].last; ++e)
            if (p.edges[e].parameter >= 0 && (p.instructions[i].outputs & 1)) {
                p.edges[e].first_visit = !p.reached[p.edges[e].parameter];
                p.reached[p.edges[e].parameter] = 1;
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

// The square root of a + i b without cancellation: u + i v with u >= 0.
template <class T>
inline void complex_sqrt(Lane<T> a, Lane<T> b, Lane<T> &u, Lane<T> &v, Lane<T> &half_inverse) {
    const Lane<T> r = at_least<T>(lane_sqrt<T>(a * a + b * b), splat<T>(T(1e-30)));
    const Lane<T> t = lane_sqrt<T>((r + lane_abs<T>(a)) * T(0.5)), small = lane_abs<T>(b) / (t + t);
    u = a >= T(0) ? t : small;
    v = with_sign<T>(a >= T(0) ? small : t, b);
    half_inverse = T(0.5) / r;
}

// Value and partial derivatives of one operator on one lane. A missing imaginary part comes as zero.
template <class T, int OP>
inline Lane<T> apply(Lane<T> a, Lane<T> b, Lane<T> c, bool is_complex, Lane<T> &da, Lane<T> &db,
                     Lane<T> &dc) {
    using V = Lane<T>;
    const V tiny = splat<T>(Layout<T>::smallest);
    if constexpr (OP == SQUARE) {
        da = a + a;
        return a * a;
    } else if constexpr (OP == CUBE) {
        const V s = a * a;
        da = T(3) * s;
        return s * a;
    } else if constexpr (OP == DIV) {
        if (!is_complex) {
            const V inverse = T(1) / b, q = a * inverse;
            da = inverse;
            db = -q * inverse;
            return q;
        }
        const V inverse = T(1) / (b * b + c * c), g = b * inverse, h = c * inverse;
        da = g;
        db = a * (h * h - g * g);
        dc = T(-2) * a * g * h;
        return a * g;
    } else if constexpr (OP == LOG) {
        const V q = is_complex ? a * a + b * b : a * a, inverse = T(1) / at_least<T>(q, tiny);
        da = a * inverse;
        db = b * inverse;
        return is_complex ? T(0.5) * lane_log<T>(q) : lane_log<T>(lane_abs<T>(a));
    } else if constexpr (OP == SQRT) {
        if (!is_complex) {
            const V root = lane_sqrt<T>(at_least<T>(a, V{}));
            da = a > T(0) ? T(0.5) / at_least<T>(root, splat<T>(T(1e-15))) : V{};
            return root;
        }
        V u, v, h;
        complex_sqrt<T>(a, b, u, v, h);
        da = u * h;
        db = v * h;
        return u;
    } else if constexpr (OP == SQRT_IM) {
        V u, v, h;
        complex_sqrt<T>(a, b, u, v, h);
        da = -v * h;
        db = u * h;
        return v;
    } else if constexpr (OP == EXP) {
        const V e = lane_exp<T>(a);
        da = e;
        return e;
    } else if constexpr (OP == SIN || OP == COS) {
        V s, k;
        lane_sincos<T>(a, s, k);
        V f = OP == SIN ? s : k, g = OP == SIN ? k : -s;
        if (is_complex) {
            const V damping = lane_exp<T>(T(-0.5) * b * b);
            f *= damping;
            g *= damping;
        }
        da = g;
        db = -b * f;
        return f;
    } else if constexpr (OP == TANH) {
        const V t = lane_tanh<T>(a);
        da = T(1) - t * t;
        return t;
    } else if constexpr (OP == ABS) {
        da = with_sign<T>(splat<T>(T(1)), a);
        return lane_abs<T>(a);
    } else if constexpr (OP == POW) {
        const V r2 = at_least<T>(a * a + b * b, splat<T>(T(1e-30))), log_r = T(0.5) * lane_log<T>(r2);
        const V angle = lane_atan2<T>(b, a), power = lane_exp<T>(c * log_r);
        V s, k;
        lane_sincos<T>(c * angle, s, k);
        const V re = power * k, im = power * s, scale = c / r2;
        // d z^c / dz = c z^c conj(z) / |z|^2
        da = scale * (re * a + im * b);
        db = -scale * (im * a - re * b);
        dc = re * log_r - im * angle;
        return re;
    } else if constexpr (OP == ANGLE) {
        const V inverse = T(1) / at_least<T>(a * a + b * b, tiny);
        da = is_complex ? -b * inverse : V{};
        db = a * inverse;
        return lane_atan2<T>(b, a);
    } else {
        static_assert(OP == SHORTFALL, "an operator without a rule");
        da = a < T(0) ? splat<T>(T(-1)) : V{};
        return a >= T(0) ? V{} : -a; // a NaN stays one
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
            // The partial derivatives of a product are its factors, which are there already.
            p.partial[0][in.slot] = b;
            p.partial[1][in.slot] = a;
            break;
        }
#define CEQL_CASE(OP)                                                                                        \
    case OP:                                                                                                 \
        forward_operator<T, OP, derivatives>(p, in, n);                                                      \
        break;
            CEQL_CASE(SQUARE)
            CEQL_CASE(CUBE)
            CEQL_CASE(DIV)
            CEQL_CASE(LOG)
            CEQL_CASE(SQRT)
            CEQL_CASE(SQRT_IM)
            CEQL_CASE(EXP)
            CEQL_CASE(SIN)
            CEQL_CASE(COS)
            CEQL_CASE(TANH)
            CEQL_CASE(ABS)
            CEQL_CASE(POW)
            CEQL_CASE(ANGLE)
            CEQL_CASE(SHORTFALL)
#undef CEQL_CASE
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

// Adds d(sum of seeds * outputs)/d parameter to p.dots. The adjoints of the outputs hold the seeds.
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

// Derivatives of one output by parameter and sample, scaled by the seeds the output's adjoint holds. Column k
// of `jacobian` belongs to parameter k; only the model's own pass (output 0) may assume that it touches every
// column.
template <class T> void backward_jacobian(Program<T> &p, int output, int n, T *jacobian) {
    constexpr int w = lane_count<T>;
    const uint64_t bit = uint64_t(1) << output;
    for (int k = 0; k < p.n_params; ++k)
        if (output != 0 || !p.reached[k])
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
