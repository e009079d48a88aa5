// The R of a QR factorisation on a warp, as in core/triangle.hpp. It is in global memory; rows are folded
// into it 32 at a time, from the columns in shared memory.
#pragma once
#include "normal.cuh"

namespace ceql::CEQL_ISA {

// The upper triangle R of the columns folded into it so far; the last column is the residual.
struct Triangle {
    int columns, pitch;
    double *memory;
    double &at(int i, int j) const { return memory[i * pitch + j]; }
    void clear() const {
#pragma unroll 1
        for (int k = lane_id(); k < columns * pitch; k += warp)
            memory[k] = 0.0;
    }
};

// Returns the rows of column k of R: those of the parameter at this place, or of the residual.
template <class T, int K> inline T *rows_of(const Fit<T, K> &f, const Triangle &r, int k) {
    const int parameter = k + 1 < r.columns ? shared_at<int32_t>(f.order)[k] : f.n;
    return shared_at<T>(f.columns) + parameter * column_pitch;
}

// In a fold four threads share a column, so that eight columns are processed at once; each thread has every
// fourth row, so that no two read the same bank.
constexpr int row_groups = 4, rows_each = warp / row_groups, columns_at_once = warp / row_groups;

// The sum over the threads that share a column.
inline double sum_of_column(double x) {
    for (int distance = 1; distance < row_groups; distance *= 2)
        x += __shfl_xor_sync(everyone, x, distance);
    return x;
}

// Folds in the rows stored in the columns, which are overwritten.
template <class T, int K> __noinline__ void fold(Triangle r) {
    const Fit<T, K> f = own_fit<T, K>();
    const int group = lane_id() % row_groups, place = lane_id() / row_groups;
#pragma unroll 1
    for (int j = 0; j < r.columns; ++j) {
        __syncwarp();
        const T *own_rows = rows_of(f, r, j) + group;
        const double own = r.at(j, j);
        double v[rows_each], below[2] = {0.0, 0.0};
        for (int i = 0; i < rows_each; ++i) {
            v[i] = double(own_rows[i * row_groups]);
            below[i % 2] += v[i] * v[i];
        }
        const double left = sum_of_column(below[0] + below[1]);
        if (left == 0.0)
            continue;
        const Reflection by = reflection(own, left);
#pragma unroll 1
        for (int k = j + 1 + place; k - place < r.columns; k += columns_at_once) {
            const bool is_there = k < r.columns;
            T *rows = rows_of(f, r, is_there ? k : j) + group;
            const double above = is_there ? r.at(j, k) : 0.0;
            double x[rows_each], along[2] = {0.0, 0.0};
            for (int i = 0; i < rows_each; ++i) {
                x[i] = double(rows[i * row_groups]);
                along[i % 2] += v[i] * x[i];
            }
            const double factor = by.tau * (by.head * above + sum_of_column(along[0] + along[1]));
            if (!is_there)
                continue;
            for (int i = 0; i < rows_each; ++i)
                rows[i * row_groups] = T(x[i] - factor * v[i]);
            if (group == 0)
                r.at(j, k) = above - factor * by.head;
        }
        __syncwarp();
        if (lane_id() == 0)
            r.at(j, j) = by.corner;
    }
    __syncwarp();
}

// Folds in a row for every quadratic penalty on the parameters of R's columns; `params` holds their values.
template <class T, int K> inline void fold_ridge(const Fit<T, K> &f, const Triangle &r, int params) {
#pragma unroll 1
    for (int first = 0; first + 1 < r.columns; first += warp) {
        const int k = first + lane_id(), p = k + 1 < r.columns ? shared_at<int32_t>(f.order)[k] : -1;
        const double root = p < 0 ? 0.0 : sqrt(shared_at<double>(f.ridge)[p]);
        if (!__any_sync(everyone, root != 0.0))
            continue;
        __syncwarp();
#pragma unroll 1
        for (int c = 0; c < r.columns; ++c)
            rows_of(f, r, c)[lane_id()] = T(0);
        if (root != 0.0) { // a row per thread
            rows_of(f, r, k)[lane_id()] = T(root);
            rows_of(f, r, r.columns - 1)[lane_id()] = T(root * shared_at<double>(params)[p]);
        }
        fold<T, K>(r);
    }
}

// Makes R triangular again with row `top` as the pivot of column j, whose squared length from there on is
// `left`.
inline void lift(const Triangle &r, int top, int j, double left) {
    const double own = r.at(top, j), size = sqrt(left), corner = own > 0.0 ? -size : size, v = own - corner;
    const double tau = 1.0 / (size * (size + fabs(own)));
#pragma unroll 1
    for (int k = j + 1 + lane_id(); k < r.columns; k += warp) {
        double f = v * r.at(top, k);
#pragma unroll 1
        for (int i = top + 1; i <= j; ++i)
            f += r.at(i, j) * r.at(i, k);
        f *= tau;
        r.at(top, k) -= f * v;
#pragma unroll 1
        for (int i = top + 1; i <= j; ++i)
            r.at(i, k) -= f * r.at(i, j);
    }
    __syncwarp();
    if (lane_id() == 0)
        r.at(top, j) = corner;
}

// Removes those of the first `n_linear` columns that depend linearly on the columns before them, and makes R
// triangular again. `pivot` gets the row of each column, or -1. Returns the rank, or -1 if the square of a
// column overflows.
__noinline__ int settle(Triangle r, int n_linear, double tolerance, int pivot) {
    int top = 0, rank = 0;
#pragma unroll 1
    for (int j = 0; j < r.columns; ++j) {
        __syncwarp();
        double above = 0.0, left = 0.0;
#pragma unroll 1
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
