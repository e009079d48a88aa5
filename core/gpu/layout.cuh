// A start's program in the form that a warp executes. A cell holds one number
// for every sample of a tile; a thread handles its own samples, so most passes
// need no synchronisation. Shared memory limits how many starts run at a time,
// so cells are reused: the cell of an argument that only one operator reads
// later holds the partial derivative by it and then its adjoint.
#pragma once
#include "../compaction.hpp"

namespace ceql::CEQL_ISA {

constexpr int warp = 32;
constexpr unsigned everyone = 0xffffffffu;
constexpr uint16_t none = 0xffff;

extern __shared__ __align__(16) char shared_memory[];
// Offsets are stored instead of pointers, so that the compiler knows that the
// memory is shared.
template <class V> inline V *shared_at(int offset) { return reinterpret_cast<V *>(shared_memory + offset); }

inline int in_whole_units(int x, int unit) { return (x + unit - 1) / unit * unit; }

// Memory that is allocated piece by piece.
struct Pile {
    char *base;
    size_t used;
    void *take(size_t bytes) {
        char *result = base + used;
        used += (bytes + 15) / 16 * 16;
        return result;
    }
};

struct alignas(16) Step {
    uint16_t op, is_complex;
    uint16_t value, adjoint; // cells
    uint16_t args[3], partial[3], target[3];
    uint16_t adds;        // bit k: the adjoint of argument k has other contributions
    uint16_t first, last; // links of a LINEAR step
    uint64_t outputs;
};

template <class T> struct Link {
    T weight, coefficient;
    uint16_t x,
        target; // cells: the value of the source and, if it is a node, its adjoint
    uint16_t parameter;
    uint16_t begins; // the first link of its parameter
};

// A contribution to a parameter's derivative: coefficient * seed * x.
template <class T> struct Term {
    T coefficient;
    uint16_t seed, x;
};

struct Load {
    uint16_t cell, column;
};

struct Output {
    uint16_t value, adjoint;
};

template <class T> struct Plan {
    int n_steps, n_links, n_params, n_terms, n_loads, n_outputs, n_cells;
    int first_adjoint; // cells from here on are adjoints to which several steps
                       // contribute
    Step *steps;
    Link<T> *links;
    Term<T> *terms;
    uint16_t *term_first; // where the terms of each parameter begin, and where the last end
    Load *loads;
    Output outputs[64];
    int32_t *param_index, *partner;
};

struct Uses {
    uint16_t by_links, by_operators, as_output;
    // Whether only one step reads the value, and not after its backward pass.
    bool share_a_cell() const { return by_links == 0 && by_operators + as_output <= 1; }
};

template <class T> void count_uses(const Compact<T> &p, Uses *uses) {
    for (int s = 0; s < p.n_slots; ++s)
        uses[s] = {0, 0, 0};
    for (int i = 0; i < p.n_instructions; ++i) {
        for (int e = p.instructions[i].first; e < p.instructions[i].last; ++e)
            ++uses[p.edges[e].source].by_links;
        for (int k = 0; k < 3; ++k)
            if (p.instructions[i].args[k] >= 0)
                ++uses[p.instructions[i].args[k]].by_operators;
    }
    for (int k = 0; k < p.n_outputs; ++k)
        ++uses[p.outputs[k]].as_output;
}

template <class T>
void assign_cells(const Compact<T> &p, const Uses *uses, uint16_t *value, uint16_t *adjoint, Plan<T> &l) {
    l.n_cells = l.n_loads = 0;
    for (int s = 0; s < p.n_slots; ++s)
        value[s] = adjoint[s] = none;
    for (int s = 0; s <= p.n_inputs; ++s)
        if (uses[s].by_links + uses[s].by_operators + uses[s].as_output > 0) {
            value[s] = uint16_t(l.n_cells++);
            l.loads[l.n_loads++] = {value[s], uint16_t(s)};
        }
    for (int i = 0; i < p.n_instructions; ++i)
        value[p.instructions[i].slot] = uint16_t(l.n_cells++);
    // Partial derivatives that cannot reuse a cell.
    for (int i = 0; i < p.n_instructions; ++i) {
        const Instruction &in = p.instructions[i];
        for (int k = 0; k < 3; ++k) {
            const int a = in.args[k];
            l.steps[i].partial[k] = none;
            if (a > p.n_inputs && in.op != MUL)
                l.steps[i].partial[k] = uses[a].share_a_cell() ? value[a] : uint16_t(l.n_cells++);
        }
    }
    l.first_adjoint = l.n_cells;
    for (int i = 0; i < p.n_instructions; ++i) {
        const int s = p.instructions[i].slot;
        adjoint[s] = uses[s].share_a_cell() ? value[s] : uint16_t(l.n_cells++);
    }
}

// Makes the plan on one thread: a few hundred short steps, once per start.
template <class T> void lay_out(const TapeView &tape, const uint8_t *mask, Pile &scratch, Plan<T> &l) {
    Compact<T> p;
    compact<T>(tape, mask, scratch, p);
    l.steps = take<Step>(scratch, p.n_instructions);
    l.links = take<Link<T>>(scratch, p.n_edges);
    l.terms = take<Term<T>>(scratch, p.n_edges);
    l.term_first = take<uint16_t>(scratch, p.n_params + 1);
    l.loads = take<Load>(scratch, p.n_inputs + 1);
    Uses *uses = take<Uses>(scratch, p.n_slots);
    uint16_t *value = take<uint16_t>(scratch, p.n_slots), *adjoint = take<uint16_t>(scratch, p.n_slots);
    count_uses<T>(p, uses);
    assign_cells<T>(p, uses, value, adjoint, l);
    l.n_steps = p.n_instructions;
    l.n_links = p.n_edges;
    l.n_params = p.n_params;
    l.n_outputs = p.n_outputs;
    l.param_index = p.param_index;
    l.partner = p.partner;
    for (int k = 0; k <= p.n_params; ++k)
        l.term_first[k] = 0;
    for (int i = 0; i < p.n_instructions; ++i) {
        const Instruction &in = p.instructions[i];
        Step &step = l.steps[i];
        const int imaginary = op_shapes[in.op].imaginary;
        step.op = uint16_t(in.op);
        step.is_complex = imaginary >= 0 && in.args[imaginary] >= 0;
        step.value = value[in.slot];
        step.adjoint = adjoint[in.slot];
        step.first = uint16_t(in.first);
        step.last = uint16_t(in.last);
        step.outputs = in.outputs;
        step.adds = 0;
        for (int k = 0; k < 3; ++k) {
            step.args[k] = in.args[k] >= 0 ? value[in.args[k]] : none;
            step.target[k] = in.args[k] >= 0 ? adjoint[in.args[k]] : none;
            if (in.args[k] >= 0 && !uses[in.args[k]].share_a_cell())
                step.adds |= uint16_t(1 << k);
        }
        for (int e = in.first; e < in.last; ++e) {
            const ActiveEdge<T> &edge = p.edges[e];
            const uint16_t parameter = edge.parameter >= 0 ? uint16_t(edge.parameter) : none;
            l.links[e] = {edge.weight,          edge.coefficient, value[edge.source],
                          adjoint[edge.source], parameter,        0};
            if (edge.parameter >= 0)
                l.links[e].begins = l.term_first[edge.parameter + 1]++ == 0;
        }
    }
    for (int k = 0; k < p.n_params; ++k)
        l.term_first[k + 1] += l.term_first[k];
    l.n_terms = l.term_first[p.n_params];
    // Sorts the terms by parameter: the begin of each list is moved to its end while filling, and then back.
    for (int i = 0; i < p.n_instructions; ++i)
        for (int e = p.instructions[i].first; e < p.instructions[i].last; ++e)
            if (p.edges[e].parameter >= 0)
                l.terms[l.term_first[p.edges[e].parameter]++] = {
                    p.edges[e].coefficient, adjoint[p.instructions[i].slot], value[p.edges[e].source]};
    for (int k = p.n_params; k > 0; --k)
        l.term_first[k] = l.term_first[k - 1];
    if (p.n_params >= 0)
        l.term_first[0] = 0;
    for (int k = 0; k < p.n_outputs; ++k)
        l.outputs[k] = {value[p.outputs[k]], adjoint[p.outputs[k]]};
}

} // namespace ceql::CEQL_ISA
