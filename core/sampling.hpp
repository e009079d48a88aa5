// Small random sub-networks: new draws, or children of a parent with a few changes. All chances are data.
#pragma once
#include <stdexcept>

#include "random.hpp"
#include "wiring.hpp"

namespace ceql {

// Chances are cumulative.
struct PriorView {
    const double *depths;      // chances of using 1, 2, ... layers
    const double *units;       // chances of 0, 1, ... units: (layer, last layer in use, number)
    int32_t most_units;        // size of the last dimension of `units`
    const double *weights;     // per unit: relative chance within its layer
    const double *inputs_used; // chances of using 1, 2, ... inputs
    int32_t most_inputs;
    double all_inputs; // share of draws that may use all inputs
    double low_fan_in, full_fan_in, bare_readout;
    double low_density, density[2], bare_density, readout_density[2];
    const double *mutations; // chances of adding an edge, dropping one, adding a unit, swapping one
    double more_mutations, more_sources;
    int32_t maximum_edges;
    const int64_t *operators, *banned; // per unit: its bits, and those that must not occur inside it
    const uint8_t *needed;             // (groups, inputs): at least one of each group must be in use
    int32_t n_needed;
};

// After this many draws in a row that break the constraints, these count as impossible to satisfy.
constexpr int32_t most_draws = 100000;

template <class T> T *scratch(Arena &arena, int32_t count) {
    T *memory = static_cast<T *>(arena.take(size_t(count) * sizeof(T)));
    std::fill_n(memory, count, T());
    return memory;
}

// Returns one of first .. last-1 for which `fits` holds, with equal chances; -1 if there is none.
template <class F> int32_t any_of(int32_t first, int32_t last, Random &random, const F &fits) {
    int32_t count = 0;
    for (int32_t k = first; k < last; ++k)
        count += fits(k) ? 1 : 0;
    if (count == 0)
        return -1;
    int32_t left = random.below(count);
    for (int32_t k = first;; ++k)
        if (fits(k) && left-- == 0)
            return k;
}

// ---- constraints
// ------------------------------------------------------------------------------------

inline bool nests(const WiringView &wiring, const PriorView &prior, const uint8_t *edges, Arena &arena) {
    int64_t *below = scratch<int64_t>(arena, wiring.n_nodes);
    for (int32_t s = 0; s < wiring.n_sums && wiring.sums[s].target < wiring.n_nodes; ++s) {
        const WeightedSum &sum = wiring.sums[s];
        const int32_t unit = sum.target - wiring.first_unit();
        int64_t inside = 0;
        bool any = false;
        for (int32_t e = sum.first; e < sum.last; ++e)
            if (edges[e]) {
                inside |= below[wiring.source[e]];
                any = true;
            }
        if (inside & prior.banned[unit])
            return true;
        below[sum.target] |= inside | (any ? prior.operators[unit] : 0);
    }
    return false;
}

inline bool is_needed_there(const WiringView &wiring, const uint8_t *group, const uint8_t *edges) {
    for (int32_t k = 0; k < wiring.n_inputs; ++k)
        if (group[k])
            for (int32_t at = wiring.first_out[k]; at < wiring.first_out[k + 1]; ++at)
                if (edges[wiring.out[at]])
                    return true;
    return false;
}

// Whether a clean mask satisfies the constraints; its size is not checked.
inline bool is_permitted(const WiringView &wiring, const PriorView &prior, const uint8_t *edges,
                         Arena &arena) {
    for (int32_t k = 0; k < prior.n_needed; ++k)
        if (!is_needed_there(wiring, prior.needed + size_t(k) * wiring.n_inputs, edges))
            return false;
    return !nests(wiring, prior, edges, arena);
}

inline bool is_fine(const WiringView &wiring, const PriorView &prior, uint8_t *edges, Arena &arena) {
    const int32_t size = clean(wiring, edges, arena);
    return size > 0 && size <= prior.maximum_edges && is_permitted(wiring, prior, edges, arena);
}

// ---- draws
// ---------------------------------------------------------------------------------------------------------

// Chooses `wanted` units of a layer, with chances in proportion to their weights.
inline void choose_units(const WiringView &wiring, const PriorView &prior, int32_t layer, int32_t wanted,
                         Random &random, uint8_t *alive) {
    uint8_t *units = alive + wiring.first_unit();
    for (; wanted > 0; --wanted) {
        double total = 0;
        for (int32_t u = 0; u < wiring.n_units(); ++u)
            total += wiring.layer_of[u] == layer && !units[u] ? prior.weights[u] : 0;
        double ticket = total * random.uniform();
        int32_t chosen = -1;
        for (int32_t u = 0; u < wiring.n_units() && ticket >= 0; ++u)
            if (wiring.layer_of[u] == layer && !units[u]) {
                ticket -= prior.weights[u];
                chosen = u;
            }
        if (chosen < 0)
            return; // all units are chosen
        units[chosen] = 1;
    }
}

// Chooses the inputs and units that a draw may use.
inline void choose_nodes(const WiringView &wiring, const PriorView &prior, Random &random, uint8_t *alive) {
    std::fill_n(alive, wiring.n_nodes + 1, uint8_t(0));
    alive[wiring.n_nodes] = alive[wiring.n_inputs] = 1;
    int32_t used = 1 + random.pick(prior.inputs_used, prior.most_inputs);
    if (random.chance(prior.all_inputs))
        used = wiring.n_inputs;
    for (; used > 0; --used)
        alive[any_of(0, wiring.n_inputs, random, [&](int32_t k) { return !alive[k]; })] = 1;
    for (int32_t k = 0; k < prior.n_needed * wiring.n_inputs; ++k)
        alive[k % wiring.n_inputs] |= prior.needed[k];
    const int32_t last = random.pick(prior.depths, wiring.n_layers);
    for (int32_t layer = 0; layer <= last; ++layer) {
        const double *chances = prior.units + size_t(layer * wiring.n_layers + last) * prior.most_units;
        choose_units(wiring, prior, layer, random.pick(chances, prior.most_units), random, alive);
    }
}

// Gives every chosen unit without an outgoing edge one, so that it is not cleaned away.
inline void connect_upwards(const WiringView &wiring, const uint8_t *alive, Random &random, uint8_t *edges) {
    for (int32_t node = wiring.n_nodes - 1; node >= wiring.first_unit(); --node) {
        const int32_t first = wiring.first_out[node], last = wiring.first_out[node + 1];
        const auto feeds = [&](int32_t at) { return edges[wiring.out[at]] != 0; };
        bool any = !alive[node];
        for (int32_t at = first; at < last && !any; ++at)
            any = feeds(at);
        if (any)
            continue;
        const int32_t at =
            any_of(first, last, random, [&](int32_t k) { return alive[wiring.target(wiring.out[k])] != 0; });
        if (at >= 0)
            edges[wiring.out[at]] = 1;
    }
}

inline void draft(const WiringView &wiring, const PriorView &prior, Random &random, uint8_t *edges,
                  uint8_t *alive) {
    choose_nodes(wiring, prior, random, alive);
    std::fill_n(edges, wiring.n_edges, uint8_t(0));
    const double kind = random.uniform();
    const double within = random.between(prior.density);
    const double inner = kind < prior.low_fan_in         ? prior.low_density
                         : kind >= 1 - prior.full_fan_in ? 1.0
                                                         : within;
    const double rich = random.between(prior.readout_density);
    const double outer = random.chance(prior.bare_readout) ? prior.bare_density : rich;
    for (int32_t s = 0; s < wiring.n_sums; ++s) {
        const WeightedSum &sum = wiring.sums[s];
        if (!alive[sum.target])
            continue;
        const double chance = sum.is_constant ? 1.0 : sum.target == wiring.n_nodes ? outer : inner;
        // Every sum of a chosen unit needs a source: the one with the lowest random number.
        double lowest = 2.0;
        int32_t least = -1;
        for (int32_t e = sum.first; e < sum.last; ++e) {
            if (!alive[wiring.source[e]])
                continue;
            const double ticket = random.uniform();
            edges[e] = ticket < chance;
            if (ticket < lowest) {
                lowest = ticket;
                least = e;
            }
        }
        if (least >= 0)
            edges[least] = 1;
    }
    connect_upwards(wiring, alive, random, edges);
}

inline void draw(const WiringView &wiring, const PriorView &prior, Random random, uint8_t *edges,
                 Arena &arena) {
    uint8_t *alive = scratch<uint8_t>(arena, wiring.n_nodes + 1);
    for (int32_t k = 0; k < most_draws; ++k) {
        draft(wiring, prior, random, edges, alive);
        if (is_fine(wiring, prior, edges, arena))
            return;
        arena.reset();
        alive = scratch<uint8_t>(arena, wiring.n_nodes + 1);
    }
    throw std::runtime_error(
        "no sub-network of this library keeps to the limits: allow more edges or nodes, or "
        "ease the constraints");
}

// ---- changes
// -------------------------------------------------------------------------------------------------------

// A child under construction: its edges, and the nodes that they connect.
struct Child {
    const WiringView &wiring;
    const PriorView &prior;
    Random &random;
    uint8_t *edges, *live;

    void look() {
        std::fill_n(live, wiring.n_nodes + 1, uint8_t(0));
        for (int32_t s = 0; s < wiring.n_sums; ++s)
            for (int32_t e = wiring.sums[s].first; e < wiring.sums[s].last; ++e)
                if (edges[e])
                    live[wiring.source[e]] = live[wiring.sums[s].target] = 1;
        std::fill_n(live, wiring.first_unit(), uint8_t(1));
        live[wiring.n_nodes] = 1;
    }
    bool is_idle(int32_t unit) const { return !live[wiring.first_unit() + unit]; }
    bool has_arguments(int32_t unit) const { return wiring.first_sum[unit] < wiring.first_sum[unit + 1]; }
    // Returns the edge of a sum that comes from this node, or -1.
    int32_t edge_from(int32_t node, const WeightedSum &sum) const {
        for (int32_t e = sum.first; e < sum.last; ++e)
            if (wiring.source[e] == node)
                return e;
        return -1;
    }
    int32_t any_live_source(const WeightedSum &sum) {
        return any_of(sum.first, sum.last, random, [&](int32_t e) { return live[wiring.source[e]] != 0; });
    }
};

inline void add_edge(Child &child) {
    const WiringView &wiring = child.wiring;
    const int32_t edge = any_of(0, wiring.n_edges, child.random, [&](int32_t e) {
        const WeightedSum &sum = wiring.sums[wiring.sum_of[e]];
        return !child.edges[e] && !sum.is_constant && child.live[wiring.source[e]] && child.live[sum.target];
    });
    if (edge >= 0)
        child.edges[edge] = 1;
}

inline void drop_edge(Child &child) {
    const int32_t edge =
        any_of(0, child.wiring.n_edges, child.random, [&](int32_t e) { return child.edges[e] != 0; });
    if (edge >= 0 && std::count(child.edges, child.edges + child.wiring.n_edges, uint8_t(1)) > 1)
        child.edges[edge] = 0;
}

inline void add_unit(Child &child) {
    const WiringView &wiring = child.wiring;
    const int32_t unit =
        any_of(0, wiring.n_units(), child.random, [&](int32_t u) { return child.is_idle(u); });
    if (unit < 0)
        return;
    const int32_t node = wiring.first_unit() + unit;
    const int32_t onward = any_of(wiring.first_out[node], wiring.first_out[node + 1], child.random,
                                  [&](int32_t at) { return child.live[wiring.target(wiring.out[at])] != 0; });
    if (onward < 0)
        return;
    for (int32_t s = wiring.first_sum[unit]; s < wiring.first_sum[unit + 1]; ++s) {
        const WeightedSum &sum = wiring.sums[s];
        for (int32_t more = 1 + child.random.poisson(child.prior.more_sources); more > 0; --more) {
            const int32_t edge = any_of(sum.first, sum.last, child.random, [&](int32_t e) {
                return child.live[wiring.source[e]] && !child.edges[e];
            });
            if (edge >= 0)
                child.edges[edge] = 1;
        }
    }
    child.edges[wiring.out[onward]] = 1;
}

// Replaces a live operator by another one of its layer, which takes over its edges.
inline void swap_unit(Child &child) {
    const WiringView &wiring = child.wiring;
    uint8_t *edges = child.edges;
    const auto may_swap = [&](int32_t u, bool idle) {
        return child.has_arguments(u) && child.is_idle(u) == idle;
    };
    const int32_t old =
        any_of(0, wiring.n_units(), child.random, [&](int32_t u) { return may_swap(u, false); });
    if (old < 0)
        return;
    const int32_t other = any_of(0, wiring.n_units(), child.random, [&](int32_t u) {
        return may_swap(u, true) && wiring.layer_of[u] == wiring.layer_of[old];
    });
    if (other < 0)
        return;
    const int32_t first = wiring.first_sum[old], last = wiring.first_sum[old + 1];
    for (int32_t s = wiring.first_sum[other]; s < wiring.first_sum[other + 1]; ++s) {
        const WeightedSum &own = wiring.sums[s];
        const WeightedSum &donor = wiring.sums[std::min(first + s - wiring.first_sum[other], last - 1)];
        if (own.last - own.first == donor.last - donor.first)
            std::copy(edges + donor.first, edges + donor.last, edges + own.first);
        else
            std::fill(edges + own.first, edges + own.last, uint8_t(1));
    }
    for (int32_t s = first; s < last; ++s)
        std::fill(edges + wiring.sums[s].first, edges + wiring.sums[s].last, uint8_t(0));
    const int32_t node = wiring.first_unit() + old;
    for (int32_t at = wiring.first_out[node]; at < wiring.first_out[node + 1]; ++at) {
        const int32_t edge = wiring.out[at];
        if (!edges[edge])
            continue;
        const int32_t twin = child.edge_from(wiring.first_unit() + other, wiring.sums[wiring.sum_of[edge]]);
        if (twin >= 0)
            edges[twin] = 1;
        edges[edge] = 0;
    }
}

// Inserts an operator into an edge: x in sin(x) becomes x^2 or x z.
inline void insert_unit(Child &child) {
    const WiringView &wiring = child.wiring;
    const int32_t edge =
        any_of(0, wiring.n_edges, child.random, [&](int32_t e) { return child.edges[e] != 0; });
    if (edge < 0)
        return;
    const int32_t source = wiring.source[edge], first_unit = wiring.first_unit();
    const WeightedSum &into = wiring.sums[wiring.sum_of[edge]];
    const int32_t unit = any_of(0, wiring.n_units(), child.random, [&](int32_t u) {
        return child.is_idle(u) && child.has_arguments(u) && child.edge_from(first_unit + u, into) >= 0 &&
               child.edge_from(source, wiring.sums[wiring.first_sum[u]]) >= 0;
    });
    if (unit < 0)
        return;
    const int32_t first = wiring.first_sum[unit], last = wiring.first_sum[unit + 1];
    const int32_t taker = first + child.random.below(last - first);
    for (int32_t s = first; s < last; ++s) {
        const int32_t own = s == taker ? child.edge_from(source, wiring.sums[s]) : -1;
        const int32_t chosen = own >= 0 ? own : child.any_live_source(wiring.sums[s]);
        if (chosen >= 0)
            child.edges[chosen] = 1;
    }
    child.edges[edge] = 0;
    child.edges[child.edge_from(first_unit + unit, into)] = 1;
}

// GRAFT inserts an operator into an edge; MUTATE makes one or more of the other changes.
enum class Change : int32_t { MUTATE, GRAFT };

// Makes a child of a parent; the parent itself if the child is too large or breaks a constraint.
inline void breed(const WiringView &wiring, const PriorView &prior, Change change, Random random,
                  const uint8_t *parent, uint8_t *edges, Arena &arena) {
    using Step = void (*)(Child &);
    constexpr Step steps[] = {add_edge, drop_edge, add_unit, swap_unit};
    std::copy_n(parent, wiring.n_edges, edges);
    Child child = {wiring, prior, random, edges, scratch<uint8_t>(arena, wiring.n_nodes + 1)};
    const int32_t count = change == Change::GRAFT ? 1 : 1 + random.poisson(prior.more_mutations);
    for (int32_t k = 0; k < count; ++k) {
        child.look();
        (change == Change::GRAFT ? insert_unit : steps[random.pick(prior.mutations, 4)])(child);
    }
    if (!is_fine(wiring, prior, edges, arena))
        std::copy_n(parent, wiring.n_edges, edges);
}

} // namespace ceql
