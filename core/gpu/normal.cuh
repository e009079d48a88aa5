// The normal equations of Levenberg-Marquardt. J'J is computed by the double-precision matrix units, for
// eight by eight parameters at a time.
#pragma once
#include "objective.cuh"

namespace ceql::CEQL_ISA {

// J'J with J'r as an additional last column, in global memory: it is written
// once and read a few times per step.
struct Normal {
    int n, pitch;
    double *matrix;
    double &at(int i, int j) const { return matrix[i * pitch + j]; }
};

// c += a' b for eight columns each over four samples: a thread supplies one
// number of each and holds two sums.
inline void multiply_add(double2 &c, double a, double b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, "
        "{%0, %1};"
        : "+d"(c.x), "+d"(c.y)
        : "d"(a), "d"(b));
#else // chips without matrix units
    const int row = lane_id() / 4, column = lane_id() % 4 * 2;
    for (int k = 0; k < 4; ++k) {
        const double left = __shfl_sync(everyone, a, row * 4 + k);
        c.x += left * __shfl_sync(everyone, b, column * 4 + k);
        c.y += left * __shfl_sync(everyone, b, column * 4 + 4 + k);
    }
#endif
}

// normal += columns' * columns over 32 samples; the residual is the last
// column.
template <class T, int K> inline void gather_normal(const Fit<T, K> &f, const Normal &normal) {
    const int blocks = normal.pitch / 8, row = lane_id() / 4, sample = lane_id() % 4;
    const T *mine = shared_at<T>(f.columns) + row * column_pitch + sample;
#pragma unroll 1
    for (int i = 0; i < blocks; ++i) {
        double left[8];
        for (int q = 0; q < 8; ++q)
            left[q] = double(mine[i * 8 * column_pitch + 4 * q]);
#pragma unroll 1
        for (int j = i; j < blocks; ++j) {
            double2 *place = reinterpret_cast<double2 *>(&normal.at(8 * i + row, 8 * j + 2 * sample));
            double2 sums = *place;
            for (int q = 0; q < 8; ++q)
                multiply_add(sums, left[q], j == i ? left[q] : double(mine[j * 8 * column_pitch + 4 * q]));
            *place = sums;
        }
    }
}

// Fills the derivatives of one output by parameter, for the samples of row u of the tile.
template <class T, int K> inline void fill_columns(const Fit<T, K> &f, uint64_t bit, int u) {
    const int i = u * warp + lane_id();
    T *column = shared_at<T>(f.columns) + lane_id();
    for (int k = 0; k < f.n_steps; ++k) {
        const Step &step = shared_at<Step>(f.steps)[k];
        if (step.op != LINEAR)
            continue;
        const T seed = step.outputs & bit ? cell(f, step.adjoint)[i] : T(0);
#pragma unroll 1
        for (int e = step.first; e < step.last; ++e) {
            const Link<T> &link = shared_at<Link<T>>(f.links)[e];
            if (link.parameter == none)
                continue;
            const T d = step.outputs & bit ? link.coefficient * seed * cell(f, link.x)[i] : T(0);
            T &place = column[link.parameter * column_pitch];
            place = link.begins ? d : place + d;
        }
    }
}

template <class T, int K> inline void clear_normal(const Fit<T, K> &f, const Normal &normal) {
#pragma unroll 1
    for (int k = lane_id(); k < normal.pitch * normal.pitch; k += warp)
        normal.matrix[k] = 0.0;
#pragma unroll 1
    for (int k = lane_id(); k < (normal.pitch - f.n) * column_pitch; k += warp)
        shared_at<T>(f.columns)[f.n * column_pitch + k] = T(0);
}

template <class T, int K>
inline void add_normal(const Fit<T, K> &f, const Normal &normal, uint64_t bit, const T *residual) {
#pragma unroll 1
    for (int u = 0; u < K; ++u) {
        __syncwarp();
        fill_columns(f, bit, u);
        shared_at<T>(f.columns)[f.n * column_pitch + lane_id()] = residual[u];
        __syncwarp();
        gather_normal(f, normal);
    }
}

} // namespace ceql::CEQL_ISA
