// The scalar update rules of Adam and Levenberg-Marquardt. Shared by the CPU and
// the GPU, which differ only in how they compute sums.
#pragma once
#include "lanes.hpp"
#include "types.hpp"

namespace ceql::CEQL_ISA {

struct Loss {
    double misfit, total;
};

// The library's fmin and fmax are function calls, which prevent vectorisation.
// A NaN in the first argument is kept.
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

// Returns the new value of a parameter, before bounds are applied; `size` and
// `root` include the bias correction.
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
    double least; // smallest damping that makes a numerical difference
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

// The damping scale of a parameter: its curvature, with a small lower limit.
inline double scale_of(double curvature, double largest) {
    return larger(curvature, 1e-12 * largest + 1e-290);
}

// Whether a parameter stays at its bound, because the slope pushes it against the bound.
inline bool is_held(double param, double lower, double upper, double slope) {
    return (param <= lower && slope > 0) || (param >= upper && slope < 0);
}

inline bool is_singular(double pivot, double curvature) { return !(pivot > 1e-15 * (curvature + 1e-290)); }

// Makes damped steps until a criterion ends the fit. The model defines a step: it linearises at the current
// point, solves for a step, makes a trial move and returns the predicted gain, evaluates the trial and
// accepts it. The number of iterations and the status are written to the record.
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

// A column of which elimination leaves no more than this share counts as rounding.
template <class T> constexpr double rounding_left = sizeof(T) == 8 ? 1e-12 : 1e-5;

// A Householder reflection that eliminates the entries below a diagonal element of R: the new element, the
// component of the reflection vector in its row, and two over the square of the vector.
struct Reflection {
    double corner, head, tau;
};

inline Reflection reflection(double own, double below) {
    const double size = square_root(own * own + below), corner = own > 0.0 ? -size : size;
    const double head = own - corner;
    return {corner, head, 2.0 / (head * head + below)};
}

} // namespace ceql::CEQL_ISA
