// One pass over all samples, for the loss alone, with its gradient, for the normal equations, or for the
// triangle of a QR factorisation.
#pragma once
#include "triangle.cuh"

namespace ceql::CEQL_ISA {

enum Purpose { LOSS, GRADIENT, NORMAL, TRIANGLE };

inline bool takes_rows(Purpose purpose) {
    return purpose >= NORMAL;
} // one output at a time, with its residuals

// Seeds the adjoint of output k and, if rows are collected, stores its residual. A penalty of zero has no
// slope, so the triangle leaves out its row.
template <class T, int K, bool by_triangle>
inline void seed_outputs(const Fit<T, K> &f, Purpose purpose, int64_t start, int only, T *residual) {
    const T root_aux = T(sqrt(f.aux_weight));
#pragma unroll 1
    for (int k = takes_rows(purpose) ? only : 0; k < (takes_rows(purpose) ? only + 1 : f.n_outputs); ++k) {
        const Output out = shared_at<Output>(f.outputs)[k];
        if (out.adjoint == none) // a model that is only an input column has nothing to fit
            continue;
        for (int u = 0; u < K; ++u) {
            const int i = u * warp + lane_id();
            const bool counts = k == 0 || (f.uses_aux && start + i < f.n_samples); // padding repeats a sample
            const T value = cell(f, out.value)[i], gap = k == 0 ? value - f.y[start + i] : value;
            T seed = T(0);
            if (takes_rows(purpose)) {
                const bool is_met = by_triangle && k > 0 && value == T(0);
                seed = k == 0 ? sqrt(f.weight[start + i]) : counts && !is_met ? root_aux : T(0);
                residual[u] = seed * gap;
            } else if (counts) {
                seed = (k == 0 ? T(2) * f.weight[start + i] : T(2 * f.aux_weight)) * gap;
            }
            T &adjoint = cell(f, out.adjoint)[i];
            adjoint = k == 0 || out.adjoint == out.value || takes_rows(purpose) ? seed : adjoint + seed;
        }
    }
}

// Returns the outputs that matter for this tile: the model, and the few penalties that are not zero.
template <class T, int K> inline uint64_t outputs_with_residuals(const Fit<T, K> &f, int64_t start) {
    uint64_t found = shared_at<Output>(f.outputs)[0].adjoint != none;
#pragma unroll 1
    for (int k = 1; k < f.n_outputs && f.uses_aux; ++k) {
        const T *value = cell(f, shared_at<Output>(f.outputs)[k].value) + lane_id();
        bool nonzero = false;
        for (int u = 0; u < K; ++u)
            nonzero = nonzero || (start + u * warp + lane_id() < f.n_samples && value[u * warp] != T(0));
        if (__any_sync(everyone, nonzero))
            found |= uint64_t(1) << k;
    }
    return found;
}

// Folds in the rows of one output, except those of a penalty of zero.
template <class T, int K>
inline void add_rows(const Fit<T, K> &f, const Triangle &triangle, int output, const T *residual) {
#pragma unroll 1
    for (int u = 0; u < K; ++u) {
        if (output > 0 && !__any_sync(everyone, residual[u] != T(0)))
            continue;
        __syncwarp();
        fill_columns(f, uint64_t(1) << output, u);
        shared_at<T>(f.columns)[f.n * column_pitch + lane_id()] = residual[u];
        fold<T, K>(triangle);
    }
}

// `gradient` is the vector for GRADIENT, `matrix` the memory for NORMAL and TRIANGLE, whose loss is not
// computed.
template <class T, int K, bool by_triangle>
inline Loss sweep_all(Purpose purpose, int params, int gradient, double *matrix) {
    const Fit<T, K> f = own_fit<T, K>();
    const Normal normal = {f.n, in_whole_units(f.n + 1, 8), matrix};
    set_parameters(f, params);
    if (purpose == GRADIENT)
#pragma unroll 1
        for (int k = lane_id(); k < f.n; k += warp)
            shared_at<double>(gradient)[k] = 2 * shared_at<double>(f.ridge)[k] * shared_at<double>(params)[k];
    const Triangle triangle = {f.n + 1, normal.pitch, matrix};
    if (purpose == NORMAL)
        clear_normal(f, normal);
    if (by_triangle)
        triangle.clear();
    double misfit = 0, aux = 0;
    for (int64_t start = 0; start < f.n_samples; start += K * warp) {
        uint64_t waiting = 1;
        for (bool again = false; waiting; again = true) {
            // The backward pass overwrites the partial derivatives, so every output needs its own forward
            // pass.
            enter_tile(f, start);
            forward<T, K>(purpose != LOSS);
            if (!takes_rows(purpose))
                add_losses(f, start, misfit, aux);
            else if (!again)
                waiting = outputs_with_residuals(f, start);
            if (purpose == LOSS || !waiting)
                break;
            const int k = __ffsll(waiting) - 1;
            waiting &= waiting - 1;
            clear_adjoints(f);
            T residual[K] = {};
            seed_outputs<T, K, by_triangle>(f, purpose, start, k, residual);
            backward<T, K>(takes_rows(purpose) ? uint64_t(1) << k : ~uint64_t(0));
            if (purpose == GRADIENT)
                add_gradient(f, gradient);
            else if (by_triangle)
                add_rows(f, triangle, k, residual);
            else
                add_normal(f, normal, uint64_t(1) << k, residual);
        }
    }
    __syncwarp();
    if (takes_rows(purpose))
        return {0, 0};
    const double lasso = lasso_penalty(f, params, purpose == GRADIENT ? gradient : -1);
    const Loss loss = total_of(f, misfit, aux, ridge_penalty(f, params) + lasso);
    __syncwarp();
    return loss;
}

// Two functions, so that the code that runs most often is as short as possible.
template <class T, int K> __noinline__ Loss sweep(Purpose purpose, int params, int gradient, double *matrix) {
    return sweep_all<T, K, false>(purpose, params, gradient, matrix);
}
template <class T, int K> __noinline__ void sweep_triangle(int params, double *matrix) {
    sweep_all<T, K, true>(TRIANGLE, params, -1, matrix);
}

} // namespace ceql::CEQL_ISA
