// The objective of a start: weighted misfit, quadratic and absolute (lasso) penalties on parameters, and the
// mean square of the auxiliary slots.
#pragma once
#include "program.hpp"
#include "rules.hpp"

namespace ceql::CEQL_ISA {

template <class T> struct Fit {
    Program<T> program;
    const DataView<T> &data;
    int n; // active parameters
    double *params, *ridge, *lower, *upper;
    double lasso, aux_weight; // aux_weight applies to each sample
    const std::atomic<int32_t> *stop;
    bool one_block; // whether all samples fit into one block
};

template <class T>
Fit<T> open_fit(const TapeView &tape, const DataView<T> &data, const Penalties &penalties, const Start &start,
                Arena &arena) {
    Fit<T> fit = {
        build<T>(tape, start.mask, arena), data, 0, nullptr, nullptr, nullptr, nullptr, 0, 0, nullptr,
        data.padded <= block_size<T>};
    fit.n = fit.program.n_params;
    fit.params = take<double>(arena, fit.n);
    fit.ridge = take<double>(arena, fit.n);
    fit.lower = take<double>(arena, fit.n);
    fit.upper = take<double>(arena, fit.n);
    for (int k = 0; k < fit.n; ++k) {
        const int32_t full = fit.program.param_index[k];
        fit.params[k] = start.params[full];
        fit.ridge[k] = penalties.ridge ? penalties.ridge[full] : 0.0;
        fit.lower[k] = tape.lower ? tape.lower[full] : -INFINITY;
        fit.upper[k] = tape.upper ? tape.upper[full] : INFINITY;
        fit.params[k] = smaller(larger(fit.params[k], fit.lower[k]), fit.upper[k]);
    }
    fit.lasso = penalties.lasso;
    fit.aux_weight = penalties.aux / double(data.n);
    if (fit.aux_weight == 0.0)
        fit.program.n_outputs = 1;
    return fit;
}

template <class T> void close_fit(const Fit<T> &fit, const double *params, Start &start) {
    for (int k = 0; k < fit.n; ++k)
        start.params[fit.program.param_index[k]] = params[k];
}

template <class T> double ridge_penalty(const Fit<T> &fit, const double *params) {
    double total = 0;
    for (int k = 0; k < fit.n; ++k)
        total += fit.ridge[k] * params[k] * params[k];
    return total;
}

// Returns lasso * sum |w| over complex numbers, and adds its gradient if `gradient` is not null.
template <class T> double lasso_penalty(const Fit<T> &fit, const double *params, double *gradient) {
    if (fit.lasso == 0.0)
        return 0.0;
    double total = 0;
    for (int k = 0; k < fit.n; ++k) {
        const int32_t other = fit.program.partner[k];
        if (other == -2)
            continue;
        const double re = params[k], im = other >= 0 ? params[other] : 0.0,
                     size = std::sqrt(re * re + im * im);
        total += size;
        if (gradient && size > 0.0) {
            gradient[k] += fit.lasso * re / size;
            if (other >= 0)
                gradient[other] += fit.lasso * im / size;
        }
    }
    return fit.lasso * total;
}

template <class T> double weighted_squares(const T *value, const T *target, const T *weight, int n) {
    Lane<T> s = {};
    for (int i = 0; i < n; i += lane_count<T>) {
        const Lane<T> r = load<T>(value + i) - load<T>(target + i);
        s += load<T>(weight + i) * r * r;
    }
    return double(sum<T>(s));
}

// Sum of squares of n values. Padding repeats a sample, so the last true samples are added one by one.
template <class T> double plain_squares(const T *value, int n) {
    constexpr int w = lane_count<T>;
    Lane<T> s = {};
    int i = 0;
    for (; i + w <= n; i += w) {
        const Lane<T> r = load<T>(value + i);
        s += r * r;
    }
    double total = double(sum<T>(s));
    for (; i < n; ++i)
        total += double(value[i]) * double(value[i]);
    return total;
}

template <class T> int true_samples(const DataView<T> &data, int64_t start, int n) {
    const int64_t left = data.n - start;
    return left < n ? int(left) : n;
}

// Checked once per block, so that a stop is not delayed by millions of samples; results are then discarded.
template <class T> bool is_stopped(const Fit<T> &fit) {
    return fit.stop && fit.stop->load(std::memory_order_relaxed);
}

// Evaluates the loss. A NaN or an infinity in any value shows in the sum, so checking the loss is enough.
template <class T, bool derivatives = false> Loss evaluate(Fit<T> &fit, const double *params) {
    Program<T> &p = fit.program;
    set_parameters<T>(p, params);
    Loss loss = {0, 0};
    double aux = 0;
    for (int64_t start = 0; start < fit.data.padded; start += block_size<T>) {
        const int n = enter_block<T>(p, fit.data, start);
        if (is_stopped<T>(fit))
            return {INFINITY, INFINITY};
        forward<T, derivatives>(p, n);
        loss.misfit +=
            weighted_squares<T>(p.value[p.outputs[0]], fit.data.y + start, fit.data.weight + start, n);
        for (int k = 1; k < p.n_outputs; ++k)
            aux += plain_squares<T>(p.value[p.outputs[k]], true_samples<T>(fit.data, start, n));
    }
    loss.total = loss.misfit + ridge_penalty<T>(fit, params) + lasso_penalty<T>(fit, params, nullptr) +
                 fit.aux_weight * aux;
    return loss;
}

// Evaluates the loss, and keeps the derivatives if all samples fit into one block, as they are then still
// valid.
template <class T> Loss evaluate_for_slopes(Fit<T> &fit, const double *params) {
    return fit.one_block ? evaluate<T, true>(fit, params) : evaluate<T, false>(fit, params);
}

template <class T> Loss evaluate_with_gradient(Fit<T> &fit, const double *params, double *gradient) {
    constexpr int w = lane_count<T>;
    Program<T> &p = fit.program;
    set_parameters<T>(p, params);
    fill_zero(p.dots, fit.n);
    Loss loss = {0, 0};
    double aux = 0;
    for (int64_t start = 0; start < fit.data.padded; start += block_size<T>) {
        const int n = enter_block<T>(p, fit.data, start), n_true = true_samples<T>(fit.data, start, n);
        if (is_stopped<T>(fit))
            return {INFINITY, INFINITY};
        forward<T, true>(p, n);
        clear_adjoints<T>(p, ~uint64_t(0), n);
        const T *value = p.value[p.outputs[0]], *y = fit.data.y + start, *weight = fit.data.weight + start;
        T *seed = p.adjoint[p.outputs[0]];
        if (seed) // a model that is only an input column has nothing to fit
            for (int i = 0; i < n; i += w)
                store<T>(seed + i, T(2) * load<T>(weight + i) * (load<T>(value + i) - load<T>(y + i)));
        loss.misfit += weighted_squares<T>(value, y, weight, n);
        for (int k = 1; k < p.n_outputs; ++k) {
            const T *a = p.value[p.outputs[k]];
            T *s = p.adjoint[p.outputs[k]];
            const Lane<T> scale = splat<T>(T(2 * fit.aux_weight));
            for (int i = 0; i < n; i += w)
                store<T>(s + i, load<T>(s + i) + scale * load<T>(a + i));
            for (int i = n_true; i < n; ++i) // padding repeats a sample, which counts only once
                s[i] = T(0);
            aux += plain_squares<T>(a, n_true);
        }
        backward_gradient<T>(p, n);
    }
    for (int k = 0; k < fit.n; ++k)
        gradient[k] = double(sum<T>(p.dots[k])) + 2 * fit.ridge[k] * params[k];
    loss.total = loss.misfit + ridge_penalty<T>(fit, params) + lasso_penalty<T>(fit, params, gradient) +
                 fit.aux_weight * aux;
    return loss;
}

} // namespace ceql::CEQL_ISA
