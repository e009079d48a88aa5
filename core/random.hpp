// Counter-based random numbers: those of a start depend only on a key and its index, so that threads and
// machines may share the starts of a round in any way.
#pragma once
#include <cmath>
#include <cstdint>

namespace ceql {

// The finaliser of SplitMix64: every bit of the result depends on every bit of the argument.
inline uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

class Random {
public:
    Random(uint64_t key, uint64_t index) : state_(mixed(key ^ mixed(index + step))) {}

    double uniform() { return double(next() >> 11) * 0x1p-53; } // in [0, 1)
    double between(const double (&ends)[2]) { return ends[0] + (ends[1] - ends[0]) * uniform(); }
    bool chance(double share) { return uniform() < share; }
    int32_t below(int32_t count) { return int32_t((next() >> 32) * uint64_t(count) >> 32); }

    // Box-Muller method; the argument of the logarithm is above zero.
    double normal() {
        const double size = std::sqrt(-2.0 * std::log(1.0 - uniform()));
        return size * std::cos(6.283185307179586 * uniform());
    }

    // Multiplies uniform numbers until the product is below e^-mean; meant for small means.
    int32_t poisson(double mean) {
        const double least = std::exp(-mean);
        int32_t count = 0;
        for (double product = uniform(); product > least; product *= uniform())
            ++count;
        return count;
    }

    // Picks an index by cumulative chances, the last of which is 1.
    int32_t pick(const double *cumulated, int32_t count) {
        const double ticket = uniform();
        int32_t chosen = 0;
        while (chosen < count - 1 && ticket >= cumulated[chosen])
            ++chosen;
        return chosen;
    }

private:
    static constexpr uint64_t step = 0x9e3779b97f4a7c15u;
    uint64_t next() { return mixed(state_ += step); }
    uint64_t state_;
};

} // namespace ceql
