// The first values of the parameters of a start.
#pragma once
#include "random.hpp"

namespace ceql {

struct StartRule {
    double scale;            // standard deviation
    double oscillating;      // share of starts whose frequencies are spread over decades,
    double log_fastest;      // up to this factor, as a logarithm
    double in_rhythm;        // share of starts whose frequencies are seen in the data,
    double rhythm_error;     // about this exactly
    int32_t n_params;        //
    const int32_t *source;   // per parameter: the node it weighs if it is a frequency, or -1
    int32_t n_rhythmic;      // inputs that have rhythms
    const int32_t *first;    // per input, and one more: where its rhythms begin
    const double *rhythms;   //
    double shrunk[2];        // factors of what a parent does not give: real weights, imaginary ones
    int32_t first_imaginary; // parameter
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

// Parameters that the mask leaves out are zero.
inline void begin(const StartRule &rule, Random random, const uint8_t *mask, double *params) {
    const bool spreads = random.chance(rule.oscillating), follows = random.chance(rule.in_rhythm);
    for (int32_t k = 0; k < rule.n_params; ++k)
        params[k] = mask[k] ? start_value(rule, rule.source[k], spreads, follows, random) : 0.0;
}

// What a parent has is kept; what it lacks begins smaller than in a start of its own.
inline void inherit(const StartRule &rule, const double *parent, const uint8_t *mask, double *params) {
    for (int32_t k = 0; k < rule.n_params; ++k)
        if (mask[k])
            params[k] = parent[k] != 0.0 ? parent[k] : params[k] * rule.shrunk[k >= rule.first_imaginary];
}

} // namespace ceql
