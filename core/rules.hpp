// The rules by which Adam and Levenberg-Marquardt go on, number by number. One
// source for the CPU and the GPU, which differ only in who adds up what.
#pragma once
#include "lanes.hpp"
#include "types.hpp"

namespace ceql::CEQL_ISA {

struct Loss {
    double misfit, total;
};

// The library's fmin and fmax are calls that keep loops from being vectorised.
// A NaN in the first argument stays.
inline double smaller(double a, double b) { return a > b ? b : a; }
inline double larger(double a, double b) { return a < b ? b : a; }
inline bool is_finite(double x) { return x - x == 0.0; }

// ---- Adam
// ---------------------------------------------------------------------------------------------------------

struct AdamState {
    double count, rate, best, bad;
};

inline void follow_plateau(AdamState &state, const AdamOptions &options, double loss) {
    if (options.patience <= 0)
        return;
    if (loss < state.best * (1.0 - options.threshold)) {
        state.best = loss;
        state.bad = 0;
    } else if (++state.bad > double(options.patience)) {
        state.rate = larger(state.rate * options.factor, options.minimum_rate);
        state.bad = 0;
    }
}

// Where a parameter goes before its bounds are looked at; `size` and `root`
// carry the corrected bias.
inline double moved_by_adam(const AdamOptions &options, double size, double root, double gradient,
                            double param, double &first, double &second) {
    first = options.beta1 * first + (1 - options.beta1) * gradient;
    second = options.beta2 * second + (1 - options.beta2) * gradient * gradient;
    return param - size * first / (square_root(second) * root + options.epsilon);
}

// ---- Levenberg-Marquardt
// ------------------------------------------------------------------------------------------

struct Damping {
    double damping, growth;
    int stalls;   // accepted steps in a row that hardly helped
    double least; // damping below which the arithmetic has no digits
};

inline Damping from_normal_equations(const LevenbergOptions &options) {
    return {options.damping, 2.0, 0, 1e-15};
}
inline Damping from_projection(const LevenbergOptions &options) { return {options.damping, 2.0, 0, 1e-24}; }

inline bool is_done(const Damping &rule, const LevenbergOptions &options, const Loss &loss) {
    return loss.misfit <= options.target || rule.damping > 1e14 || rule.stalls >= 3;
}

inline void after_success(Damping &rule, const LevenbergOptions &options, const Loss &loss, const Loss &next,
                          double promised) {
    const double gain = (loss.total - next.total) / larger(promised, 1e-300);
    const double t = 2.0 * smaller(gain, 1.0) - 1.0;
    rule.damping = larger(rule.damping * larger(1.0 / 3.0, 1.0 - t * t * t), rule.least);
    if (gain > 0.75)
        rule.damping = larger(rule.damping * 0.3, rule.least);
    rule.growth = 2.0;
    rule.stalls = loss.total - next.total < options.least_reduction * loss.total ? rule.stalls + 1 : 0;
}

inline void after_refusal(Damping &rule) {
    rule.damping *= rule.growth;
    rule.growth *= 2.0;
}

inline void after_failure(Damping &rule) { rule.damping = larger(rule.damping * 10.0, 1e-12); }

// What a parameter is damped by: its curvature, and a little where it has none.
inline double scale_of(double curvature, double largest) {
    return larger(curvature, 1e-12 * largest + 1e-290);
}

// A parameter at a bound stays there while the slope pushes it against it.
inline bool is_held(double param, double lower, double upper, double slope) {
    return (param <= lower && slope > 0) || (param >= upper && slope < 0);
}

inline bool is_singular(double pivot, double curvature) { return !(pivot > 1e-15 * (curvature + 1e-290)); }

// Damped steps until one of the ends. The model knows what a step is: it linearises where it is, solves for a
// step, moves by it for a trial and says what the linear model promises, judges the trial and accepts it.
// What has come of it goes into the record: iterations and status.
template <class Model, class Record>
void descend(Model &model, const LevenbergOptions &options, Damping rule, Loss &loss, Record &record) {
    bool fresh = false;
    int64_t &iteration = record.iterations = 0;
    for (; iteration < options.iterations && record.status == RAN_OUT; ++iteration) {
        if (model.is_stopped()) {
            record.status = STOPPED;
            break;
        }
        if (is_done(rule, options, loss)) {
            record.status = CONVERGED;
            break;
        }
        if (!fresh && !model.linearise()) {
            record.status = model.is_stopped() ? STOPPED : NOT_FINITE;
            break;
        }
        fresh = true;
        if (!model.solve(rule.damping)) {
            after_failure(rule);
            continue;
        }
        const double promised = model.move(rule.damping);
        const Loss next = model.judge();
        if (is_finite(next.total) && next.total < loss.total) {
            after_success(rule, options, loss, next, promised);
            loss = next;
            model.accept();
            fresh = false;
        } else {
            after_refusal(rule);
        }
    }
}

// ---- separable least squares
// --------------------------------------------------------------------------------------

// What of a column is left after elimination and counts as rounding, relative to the column.
template <class T> constexpr double rounding_left = sizeof(T) == 8 ? 1e-12 : 1e-5;

// A Householder reflection that takes what is below a number of R to that number: the new number, the part of
// the reflection's vector beside it, and two over the vector's square.
struct Reflection {
    double corner, head, tau;
};

inline Reflection reflection(double own, double below) {
    const double size = square_root(own * own + below), corner = own > 0.0 ? -size : size;
    const double head = own - corner;
    return {corner, head, 2.0 / (head * head + below)};
}

} // namespace ceql::CEQL_ISA
