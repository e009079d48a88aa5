// Reduces a tape by a mask to the live nodes in order, their active edges and
// the parameters of these. Shared by the CPU and the GPU, which store the values
// differently.
#pragma once
#include "lanes.hpp"
#include "types.hpp"

namespace ceql::CEQL_ISA {

// Memory is any type with take(bytes).
template <class T, class Memory> inline T *take(Memory &memory, size_t count) {
    return static_cast<T *>(memory.take((count ? count : 1) * sizeof(T)));
}

template <class T> struct ActiveEdge {
    int32_t source;    // slot
    int32_t parameter; // index among the active ones, or -1
    T coefficient, weight;
    bool leads_back;  // the source is a node, so its adjoint is wanted
    bool first_visit; // first to touch its parameter in the model's backward pass; set by code that needs it
};

struct Instruction {
    int32_t op, slot;
    int32_t args[3];     // slots, -1 when absent
    int32_t first, last; // edges of a LINEAR node
    uint64_t outputs;    // bit k: output k depends on it
};

template <class T> struct Compact {
    int n_slots, n_inputs, n_instructions, n_params, n_outputs;
    Instruction *instructions;
    ActiveEdge<T> *edges;
    int n_edges;
    int32_t *param_index; // active parameter -> tape parameter
    int32_t *partner;     // active parameter -> active partner, -1 if none, -2 if it is
                          // itself a partner
    int32_t outputs[64];  // slots, the model's value first
};

inline bool edge_is_active(const uint8_t *mask, const Edge &edge) {
    return edge.parameter < 0 || !mask || mask[edge.parameter];
}

// Whether an imaginary part has no active edge, so that it is zero everywhere
// and the operator takes its real form.
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
    // Nodes refer only to earlier slots, so one sweep from the last node to the first is enough.
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

// Whether an auxiliary slot counts: only if every sum it depends on belongs to
// the model.
inline bool aux_is_live(const TapeView &tape, const uint64_t *live, int32_t slot) {
    const int base = tape.n_inputs + 1;
    if (slot < base)
        return false;
    const Node &node = tape.nodes[slot - base];
    return node.op == LINEAR ? (live[slot] & 1) : (live[node.a] & 1);
}

template <class T, class Memory>
void compact(const TapeView &tape, const uint8_t *mask, Memory &memory, Compact<T> &p) {
    const int base = tape.n_inputs + 1;
    p.n_inputs = tape.n_inputs;
    p.n_slots = base + tape.n_nodes;
    uint64_t *live = take<uint64_t>(memory, p.n_slots);
    for (int s = 0; s < p.n_slots; ++s)
        live[s] = 0;
    mark_live<T>(tape, mask, tape.output, 1, live);
    p.n_outputs = 1;
    p.outputs[0] = tape.output;
    for (int k = 0; k < tape.n_aux && p.n_outputs < 64; ++k)
        if (aux_is_live(tape, live, tape.aux[k]))
            p.outputs[p.n_outputs++] = tape.aux[k];
    for (int k = 1; k < p.n_outputs; ++k)
        mark_live<T>(tape, mask, p.outputs[k], uint64_t(1) << k, live);

    p.instructions = take<Instruction>(memory, tape.n_nodes);
    p.edges = take<ActiveEdge<T>>(memory, tape.n_edges);
    p.param_index = take<int32_t>(memory, tape.n_params);
    p.partner = take<int32_t>(memory, tape.n_params);
    int32_t *active = take<int32_t>(memory, tape.n_params);
    for (int k = 0; k < tape.n_params; ++k)
        active[k] = -1;
    p.n_params = p.n_instructions = p.n_edges = 0;
    for (int s = base; s < p.n_slots; ++s) {
        if (!live[s])
            continue;
        const Node &node = tape.nodes[s - base];
        Instruction &in = p.instructions[p.n_instructions++];
        in = {node.op, s, {-1, -1, -1}, p.n_edges, p.n_edges, live[s]};
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
            for (int k = 0; k < 3; ++k)
                if (args[k] >= 0 && !(k == imaginary && is_empty_sum(tape, mask, args[k])))
                    in.args[k] = args[k];
        }
    }
    for (int k = 0; k < p.n_params; ++k) {
        const int32_t other = tape.partner ? tape.partner[p.param_index[k]] : -1;
        p.partner[k] = other >= 0 ? active[other] : -1;
    }
    for (int k = 0; k < p.n_params; ++k)
        if (p.partner[k] >= 0)
            p.partner[p.partner[k]] = -2;
}

} // namespace ceql::CEQL_ISA
