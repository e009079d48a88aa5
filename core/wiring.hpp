// The weighted sums of a network, and masks of their live edges. A mask has a byte per edge.
#pragma once
#include <algorithm>

#include "types.hpp"

namespace ceql {

// A weighted sum; its edges are first .. last-1.
struct WeightedSum {
    int32_t target; // node, or n_nodes for the readout
    int32_t first, last;
    int32_t is_constant; // an exponent, whose edges are alive whenever its unit is
};

// Nodes are the raw inputs, the constant one, then the units layer by layer. Sums are in the order of their
// targets, so that the sources of a sum are computed before it.
struct WiringView {
    int32_t n_inputs, n_nodes, n_edges, n_params, n_layers;
    int32_t n_sums;
    const WeightedSum *sums;
    const int32_t *source;    // per edge: the node it comes from
    const int32_t *sum_of;    // per edge: the sum it belongs to
    const int32_t *imaginary; // per edge: the parameter that is its imaginary part, or -1
    const int32_t *layer_of;  // per unit: its layer
    const int32_t *first_sum; // the sums of unit u are first_sum[u] .. first_sum[u + 1] - 1
    const int32_t *first_out; // the edges from node k are out[first_out[k]] .. out[first_out[k + 1] - 1]
    const int32_t *out;       // edges, sorted by the node they come from

    int32_t first_unit() const { return n_inputs + 1; }
    int32_t n_units() const { return n_nodes - first_unit(); }
    int32_t target(int32_t edge) const { return sums[sum_of[edge]].target; }
};

// Removes edges that cannot matter: those of a unit with an empty argument (a division without a denominator)
// and of one that does not reach the output. Returns the number of remaining edges.
inline int32_t clean(const WiringView &wiring, uint8_t *edges, Arena &arena) {
    const size_t n = size_t(wiring.n_nodes) + 1;
    auto *alive = static_cast<uint8_t *>(arena.take(n)), *used = static_cast<uint8_t *>(arena.take(n));
    std::fill_n(alive, n, uint8_t(1));
    std::fill_n(used, n, uint8_t(0));
    for (int32_t s = 0; s < wiring.n_sums; ++s) {
        const WeightedSum &sum = wiring.sums[s];
        uint8_t any = 0;
        for (int32_t e = sum.first; e < sum.last; ++e)
            any |= edges[e] &= alive[wiring.source[e]];
        alive[sum.target] &= any;
    }
    used[wiring.n_nodes] = 1;
    int32_t left = 0;
    for (int32_t s = wiring.n_sums - 1; s >= 0; --s) {
        const WeightedSum &sum = wiring.sums[s];
        const uint8_t kept = used[sum.target] & alive[sum.target];
        for (int32_t e = sum.first; e < sum.last; ++e)
            if (edges[e] &= kept) {
                used[wiring.source[e]] = 1;
                ++left;
            }
    }
    return left;
}

// Fills a mask over parameters in which every complex sum in use has imaginary parts of its own. If a
// denominator has a single edge, its imaginary part is proportional to its real part and smooths nothing. So
// the constant and the inputs in use always have an imaginary weight there, whether or not their real edge is
// alive.
inline void smooth(const WiringView &wiring, const uint8_t *edges, uint8_t *mask, Arena &arena) {
    const int32_t inputs = wiring.n_inputs;
    auto *used = static_cast<uint8_t *>(arena.take(size_t(inputs) + 1));
    for (int32_t k = 0; k < inputs; ++k) {
        used[k] = 0;
        for (int32_t at = wiring.first_out[k]; at < wiring.first_out[k + 1]; ++at)
            used[k] |= edges[wiring.out[at]];
    }
    used[inputs] = 1;
    std::copy_n(edges, wiring.n_edges, mask);
    std::fill(mask + wiring.n_edges, mask + wiring.n_params, uint8_t(0));
    for (int32_t s = 0; s < wiring.n_sums; ++s) {
        const WeightedSum &sum = wiring.sums[s];
        uint8_t any = 0;
        for (int32_t e = sum.first; e < sum.last; ++e)
            any |= edges[e];
        for (int32_t e = sum.first; e < sum.last; ++e) {
            const int32_t source = wiring.source[e];
            if (wiring.imaginary[e] >= 0)
                mask[wiring.imaginary[e]] = edges[e] | (any & (source <= inputs ? used[source] : 0));
        }
    }
}

} // namespace ceql
