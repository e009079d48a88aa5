// Adam with a reduce-on-plateau rate. Its state can be passed back in, so a run may be split into parts.
#pragma once
#include "objective.hpp"

namespace ceql::CEQL_ISA {

inline void take_step(const AdamOptions &options, double size, double root, int n,
                      const double *__restrict gradient, const double *__restrict lower,
                      const double *__restrict upper, double *__restrict first, double *__restrict second,
                      double *__restrict params) {
    for (int k = 0; k < n; ++k) {
        const double moved = moved_by_adam(options, size, root, gradient[k], params[k], first[k], second[k]);
        params[k] = smaller(larger(moved, lower[k]), upper[k]);
    }
}

template <class T>
void run_adam(const TapeView &tape, const DataView<T> &data, const Penalties &penalties,
              const AdamOptions &options, Start &start, StopSignal stop, Arena &arena) {
    Fit<T> fit = open_fit<T>(tape, data, penalties, start, arena);
    double *gradient = take<double>(arena, fit.n), *first = take<double>(arena, fit.n);
    double *second = take<double>(arena, fit.n), *best = take<double>(arena, fit.n);
    double best_loss = INFINITY;
    fit.stop = &stop;
    AdamState state = {0, options.rate, INFINITY, 0};
    if (start.state && start.state[0] > 0)
        state = {start.state[0], start.state[1], start.state[2], start.state[3]};
    for (int k = 0; k < fit.n; ++k) {
        const int32_t full = fit.program.param_index[k];
        first[k] = start.moments ? start.moments[full] : 0.0;
        second[k] = start.moments ? start.moments[tape.n_params + full] : 0.0;
    }
    start.status = RAN_OUT;
    int64_t step = 0;
    for (; step < options.steps; ++step) {
        const Loss loss = evaluate_with_gradient<T>(fit, fit.params, gradient);
        if (is_stopped<T>(fit) || !is_finite(loss.total)) {
            start.status = is_stopped<T>(fit) ? STOPPED : NOT_FINITE;
            break;
        }
        if (options.keep_best && loss.total < best_loss) {
            best_loss = loss.total;
            std::memcpy(best, fit.params, fit.n * sizeof(double));
        }
        state.count += 1;
        const double bias1 = 1 - std::pow(options.beta1, state.count),
                     bias2 = 1 - std::pow(options.beta2, state.count);
        const double size = state.rate / bias1, root = 1 / std::sqrt(bias2);
        take_step(options, size, root, fit.n, gradient, fit.lower, fit.upper, first, second, fit.params);
        follow_plateau(state, options, loss.total);
    }
    for (int k = 0; k < fit.n && start.moments; ++k) {
        const int32_t full = fit.program.param_index[k];
        start.moments[full] = first[k];
        start.moments[tape.n_params + full] = second[k];
    }
    if (start.state) {
        start.state[0] = state.count;
        start.state[1] = state.rate;
        start.state[2] = state.best;
        start.state[3] = state.bad;
    }
    fit.stop = nullptr; // the final evaluation must not be interrupted
    Loss loss = evaluate<T>(fit, fit.params);
    if (best_loss < loss.total || (best_loss < INFINITY && !is_finite(loss.total))) {
        std::memcpy(fit.params, best, fit.n * sizeof(double));
        loss = evaluate<T>(fit, fit.params);
    }
    start.objective = loss.total;
    start.misfit = loss.misfit;
    start.iterations = step;
    close_fit<T>(fit, fit.params, start);
}

} // namespace ceql::CEQL_ISA
