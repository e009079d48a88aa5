// The objective of a start, as on the CPU: every thread sums over its samples
// and parameters, then the warp over its threads.
#pragma once
#include "program.cuh"

namespace ceql::CEQL_ISA {

// The sum over the warp, with the same bits in every thread.
inline double warp_sum(double x) {
    for (int distance = warp / 2; distance > 0; distance /= 2)
        x += __shfl_xor_sync(everyone, x, distance);
    return x;
}

inline double warp_maximum(double x) {
    for (int distance = warp / 2; distance > 0; distance /= 2)
        x = larger(x, __shfl_xor_sync(everyone, x, distance));
    return x;
}

template <class T, int K> inline double ridge_penalty(const Fit<T, K> &f, int params) {
    double total = 0;
#pragma unroll 1
    for (int k = lane_id(); k < f.n; k += warp) {
        const double p = shared_at<double>(params)[k];
        total += shared_at<double>(f.ridge)[k] * p * p;
    }
    return total;
}

// Returns the lasso penalty, lasso * sum |w|, and adds its derivatives.
template <class T, int K> inline double lasso_penalty(const Fit<T, K> &f, int params, int gradient) {
    if (f.lasso == 0.0)
        return 0.0;
    double total = 0;
#pragma unroll 1
    for (int k = lane_id(); k < f.n; k += warp) {
        const int other = shared_at<int32_t>(f.partner)[k];
        if (other == -2)
            continue;
        const double *p = shared_at<double>(params);
        const double re = p[k], im = other >= 0 ? p[other] : 0.0, size = sqrt(re * re + im * im);
        total += size;
        if (gradient >= 0 && size > 0.0) {
            shared_at<double>(gradient)[k] += f.lasso * re / size;
            if (other >= 0)
                shared_at<double>(gradient)[other] += f.lasso * im / size;
        }
    }
    return f.lasso * total;
}

// Adds a thread's part of both sums over the samples of a tile; the caller
// handles the residuals.
template <class T, int K>
inline void add_losses(const Fit<T, K> &f, int64_t start, double &misfit, double &aux) {
    for (int u = 0; u < K; ++u) {
        const int i = u * warp + lane_id();
        const T r = cell(f, shared_at<Output>(f.outputs)[0].value)[i] - f.y[start + i];
        misfit += double(f.weight[start + i] * r * r);
#pragma unroll 1
        for (int k = 1; k < f.n_outputs && f.uses_aux; ++k) {
            const T v = cell(f, shared_at<Output>(f.outputs)[k].value)[i];
            if (start + i < f.n_samples)
                aux += double(v * v);
        }
    }
}

template <class T, int K>
inline Loss total_of(const Fit<T, K> &f, double misfit, double aux, double penalties) {
    const Loss loss = {warp_sum(misfit), 0};
    return {loss.misfit, loss.misfit + warp_sum(penalties + f.aux_weight * aux)};
}

// Adds the tile's part of the derivative by each parameter. Threads divide the
// parameters among them and, if these are few, the samples. Each begins at a
// different sample, so that no two read the same bank.
template <class T, int K> inline void add_gradient(const Fit<T, K> &f, int gradient) {
    int width = warp;
    while (width >= 2 * f.n && width > 1)
        width /= 2;
    __syncwarp();
    for (int first = 0; first < f.n; first += warp) {
        const int p = first + (lane_id() & (width - 1));
        double total = 0;
        if (p < f.n)
#pragma unroll 1
            for (int t = shared_at<uint16_t>(f.term_first)[p]; t < shared_at<uint16_t>(f.term_first)[p + 1];
                 ++t) {
                const Term<T> term = shared_at<Term<T>>(f.terms)[t];
                const T *seed = cell(f, term.seed), *x = cell(f, term.x);
                T sum = 0;
                for (int u = 0; u < K; ++u)
#pragma unroll 4
                    for (int i = 0; i < width; ++i) {
                        const int j = u * warp + (i + lane_id()) % warp;
                        sum += seed[j] * x[j];
                    }
                total += double(term.coefficient * sum);
            }
        for (int distance = width; distance < warp; distance *= 2)
            total += __shfl_xor_sync(everyone, total, distance);
        if (p < f.n && lane_id() < width)
            shared_at<double>(gradient)[p] += total;
    }
    __syncwarp();
}

} // namespace ceql::CEQL_ISA
