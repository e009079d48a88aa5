// The R of a QR factorisation on a warp, as in core/triangle.hpp. It is in global memory; rows are folded into
// it 32 at a time, from the columns in shared memory.
#pragma once
#include "normal.cuh"

namespace ceql::CEQL_ISA {

// The upper triangle R of the columns folded into it so far; the last column is the residual.
struct Triangle {
    int columns, pitch;
    double *memory;
    double &at(int i, int j) const { return memory[i * pitch + j]; }
    void clear() const {
        for (int k = lane_id(); k < columns * pitch; k += warp)
            memory[k] = 0.0;
    }
};

// The rows of column k of R: those of the parameter that is in its place, or of the residual.
template <class T, int K> inline T *rows_of(const Fit<T, K> &f, const Triangle &r, int k) {
    const int parameter = k + 1 < r.columns ? shared_at<int32_t>(f.order)[k] : f.n;
    return shared_at<T>(f.columns) + parameter * column_pitch;
}

// Folds in the rows that are in the columns, which are used up. For every reflection threads share out the
// other columns and, where these are few, the rows; each begins at another row, so that no two read the same
// bank.
template <class T, int K> __noinline__ void fold(Triangle r) {
    const Fit<T, K> f = own_fit<T, K>();
    for (int j = 0; j < r.columns; ++j) {
        __syncwarp();
        const T *v = rows_of(f, r, j);
        const double own = r.at(j, j), row = v[lane_id()], below = warp_sum(row * row);
        if (below == 0.0)
            continue;
        const Reflection by = reflection(own, below);
        int width = warp;
        while (width >= 2 * (r.columns - 1 - j) && width > 1)
            width /= 2;
        for (int first = j + 1; first < r.columns; first += width) {
            const int k = first + (lane_id() & (width - 1));
            const bool is_there = k < r.columns;
            const double above = is_there ? r.at(j, k) : 0.0;
            T *x = rows_of(f, r, is_there ? k : j);
            double along = 0.0;
#pragma unroll 4
            for (int i = 0; i < width; ++i)
                along += double(v[(i + lane_id()) % warp]) * double(x[(i + lane_id()) % warp]);
            for (int distance = width; distance < warp; distance *= 2)
                along += __shfl_xor_sync(everyone, along, distance);
            const double factor = by.tau * (by.head * above + along);
            if (is_there && lane_id() < width)
                r.at(j, k) = above - factor * by.head;
            if (is_there)
#pragma unroll 4
                for (int i = 0; i < width; ++i)
                    x[(i + lane_id()) % warp] -= T(factor) * v[(i + lane_id()) % warp];
        }
        __syncwarp();
        if (lane_id() == 0)
            r.at(j, j) = by.corner;
    }
    __syncwarp();
}

// Folds in a row for every quadratic penalty on the parameters of R's columns; `params` has their values.
template <class T, int K> inline void fold_ridge(const Fit<T, K> &f, const Triangle &r, int params) {
    for (int first = 0; first + 1 < r.columns; first += warp) {
        const int k = first + lane_id(), p = k + 1 < r.columns ? shared_at<int32_t>(f.order)[k] : -1;
        const double root = p < 0 ? 0.0 : sqrt(shared_at<double>(f.ridge)[p]);
        if (!__any_sync(everyone, root != 0.0))
            continue;
        __syncwarp();
        for (int c = 0; c < r.columns; ++c)
            rows_of(f, r, c)[lane_id()] = T(0);
        if (root != 0.0) { // a row per thread
            rows_of(f, r, k)[lane_id()] = T(root);
            rows_of(f, r, r.columns - 1)[lane_id()] = T(root * shared_at<double>(params)[p]);
        }
        fold<T, K>(r);
    }
}

// Makes R triangular again where row `top` stands for column j, whose length from there on is the root of
// `left`.
inline void lift(const Triangle &r, int top, int j, double left) {
    const double own = r.at(top, j), size = sqrt(left), corner = own > 0.0 ? -size : size, v = own - corner;
    const double tau = 1.0 / (size * (size + fabs(own)));
    for (int k = j + 1 + lane_id(); k < r.columns; k += warp) {
        double f = v * r.at(top, k);
        for (int i = top + 1; i <= j; ++i)
            f += r.at(i, j) * r.at(i, k);
        f *= tau;
        r.at(top, k) -= f * v;
        for (int i = top + 1; i <= j; ++i)
            r.at(i, k) -= f * r.at(i, j);
    }
    __syncwarp();
    if (lane_id() == 0)
        r.at(top, j) = corner;
}

// Of the first `n_linear` columns, takes out those that the columns before them hold already, and makes R
// triangular again. `pivot` gets the row of each column, or -1. Returns the rank, or -1 where a column is too
// large for its square to be a number.
__noinline__ int settle(Triangle r, int n_linear, double tolerance, int pivot) {
    int top = 0, rank = 0;
    for (int j = 0; j < r.columns; ++j) {
        __syncwarp();
        double above = 0.0, left = 0.0;
        for (int i = lane_id(); i <= j; i += warp)
            (i < top ? above : left) += r.at(i, j) * r.at(i, j);
        above = warp_sum(above);
        left = warp_sum(left);
        if (!is_finite(above + left))
            return -1;
        const bool is_held_already = j < n_linear && left <= tolerance * tolerance * (above + left);
        if (!is_held_already && top < j && left > 0.0)
            lift(r, top, j, left);
        if (lane_id() == 0)
            shared_at<int32_t>(pivot)[j] = is_held_already ? -1 : top;
        top += !is_held_already;
        rank += !is_held_already && j < n_linear;
    }
    __syncwarp();
    return rank;
}

} // namespace ceql::CEQL_ISA
