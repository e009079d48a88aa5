// Start values of parameters.
#pragma once
#include "random.hpp"

namespace ceql {

struct StartRule {
    double scale;            // standard deviation
    double oscillating;      // share of starts whose frequencies are spread over decades
    double log_fastest;      // logarithm of the largest factor on these frequencies
    double in_rhythm;        // share of starts whose frequencies are those seen in the data
    double rhythm_error;     // relative standard deviation from these
    int32_t n_params;        //
    const int32_t *source;   // per parameter: the node it weighs if it is a frequency, or -1
    int32_t n_rhythmic;      // inputs that have rhythms
    const int32_t *first;    // where the rhythms of each input begin, and where the last end
    const double *rhythms;   //
    double shrunk[2];        // factors on values not inherited from a parent: real and imaginary weights
    int32_t first_imaginary; // first parameter that is an imaginary part
};

inline double start_value(const StartRule &rule, int32_t source, bool spreads, bool follows, Random &random) {
    const double value = rule.scale * random.normal();
    if (source < 0)
        return value;
    if (follows && source < rule.n_rhythmic) {
        const int32_t first = rule.first[source], count = rule.first[source + 1] - first;
        if (count > 0)
            return rule.rhythms[first + random.below(count)] * (1.0 + rule.rhythm_error * random.normal());
    }
    return spreads ? value * std::exp(rule.log_fastest * random.uniform()) : value;
}

// Draws the start values; parameters outside the mask are zero.
inline void begin(const StartRule &rule, Random random, const uint8_t *mask, double *params) {
    const bool spreads = random.chance(rule.oscillating), follows = random.chance(rule.in_rhythm);
    for (int32_t k = 0; k < rule.n_params; ++k)
        params[k] = mask[k] ? start_value(rule, rule.source[k], spreads, follows, random) : 0.0;
}

// Takes over the parent's values; parameters that are zero in the parent keep their own value, made smaller.
inline void inherit(const StartRule &rule, const double *parent, const uint8_t *mask, double *params) {
    for (int32_t k = 0; k < rule.n_params; ++k)
        if (mask[k])
            params[k] = parent[k] != 0.0 ? parent[k] : params[k] * rule.shrunk[k >= rule.first_imaginary];
}

} // namespace ceql
