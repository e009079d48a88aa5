// Levenberg-Marquardt on a warp.
#pragma once
#include "adam.cuh"

namespace ceql::CEQL_ISA {

// Fills the normal equations at f.params. Returns false if a value is not finite.
template <class T, int K> inline bool linearise(const Fit<T, K> &f, const Normal &normal) {
    sweep<T, K>(NORMAL, f.params, -1, normal.matrix);
    bool finite = true;
    for (int k = lane_id(); k < f.n; k += warp) {
        const double ridge = shared_at<double>(f.ridge)[k];
        normal.at(k, k) += ridge;
        normal.at(k, f.n) += ridge * shared_at<double>(f.params)[k];
        finite = finite && is_finite(normal.at(k, k)) && is_finite(normal.at(k, f.n));
    }
    __syncwarp();
    return __all_sync(everyone, finite);
}

// Solves (J'J + damping * diagonal) step = -J'r for the parameters that are not
// held, by elimination on a copy in the memory of columns and cells; each thread
// handles some of the columns.
template <class T, int K>
inline bool solve(const Fit<T, K> &f, const Normal &normal, double damping, int curvature, int diagonal,
                  int held, int step) {
    const int n = f.n, pitch = n + 1;
    double *copy = shared_at<double>(f.columns), *x = shared_at<double>(step);
    const double *hold = shared_at<double>(held);
    __syncwarp();
#pragma unroll 4
    for (int i = 0; i < n; ++i)
        for (int j = i + lane_id(); j <= n; j += warp) {
            const bool out = hold[i] != 0.0 || (j < n && hold[j] != 0.0);
            const double value = normal.at(i, j) + (i == j ? damping * shared_at<double>(diagonal)[i] : 0.0);
            copy[i * pitch + j] = out ? (i == j ? 1.0 : 0.0) : value;
        }
    __syncwarp();
    for (int k = 0; k < n; ++k) {
        const double *pivot_row = copy + k * pitch;
        const double pivot = pivot_row[k];
        if (is_singular(pivot, shared_at<double>(curvature)[k]))
            return false;
        const double inverse = 1.0 / pivot;
        for (int j = k + 1 + lane_id(); j <= n; j += warp) {
            const double above = pivot_row[j];
            const int last = j < n ? j : n - 1;
#pragma unroll 4
            for (int i = k + 1; i <= last; ++i)
                copy[i * pitch + j] -= pivot_row[i] * inverse * above;
        }
        if (lane_id() == 0)
            x[k] = inverse;
        __syncwarp();
    }
    // Back substitution: a parameter that is known is eliminated from all
    // equations above.
    for (int k = n - 1; k >= 0; --k) {
        const double known = -copy[k * pitch + n] * x[k];
        __syncwarp();
        if (lane_id() == 0)
            x[k] = known;
        for (int i = lane_id(); i < k; i += warp)
            copy[i * pitch + n] += copy[i * pitch + k] * known;
        __syncwarp();
    }
    return true;
}

// The plain method: all parameters are fitted in the same way, by the normal equations.
template <class T, int K> struct Plain {
    const Problem<T> &problem;
    const Fit<T, K> f;
    const Normal normal;

    bool is_stopped() const { return ceql::CEQL_ISA::is_stopped(problem); }

    bool linearise() {
        if (!ceql::CEQL_ISA::linearise(f, normal))
            return false;
        double largest = 0.0;
        for (int k = lane_id(); k < f.n; k += warp)
            largest = larger(largest, normal.at(k, k));
        largest = warp_maximum(largest);
        for (int k = lane_id(); k < f.n; k += warp) {
            shared_at<double>(f.e)[k] = normal.at(k, k);
            shared_at<double>(f.a)[k] = scale_of(normal.at(k, k), largest);
            shared_at<double>(f.b)[k] = is_held(shared_at<double>(f.params)[k], shared_at<double>(f.lower)[k],
                                                shared_at<double>(f.upper)[k], normal.at(k, f.n));
        }
        return true;
    }

    bool solve(double damping) { return ceql::CEQL_ISA::solve(f, normal, damping, f.e, f.a, f.b, f.c); }

    double move(double damping) {
        double promised = 0.0;
        for (int k = lane_id(); k < f.n; k += warp) {
            const double s = shared_at<double>(f.c)[k], moved = shared_at<double>(f.params)[k] + s;
            shared_at<double>(f.d)[k] =
                smaller(larger(moved, shared_at<double>(f.lower)[k]), shared_at<double>(f.upper)[k]);
            if (shared_at<double>(f.b)[k] == 0.0)
                promised += s * (damping * shared_at<double>(f.a)[k] * s - normal.at(k, f.n));
        }
        return warp_sum(promised);
    }

    Loss judge() { return sweep<T, K>(LOSS, f.d, -1, nullptr); }
    void accept() { copy_vector(f.params, f.d, f.n); }
};

template <class T, int K>
Ending run_levenberg(const Problem<T> &problem, const LevenbergOptions &options, double *scratch) {
    const Fit<T, K> f = own_fit<T, K>();
    Plain<T, K> model = {problem, f, {f.n, in_whole_units(f.n + 1, 8), scratch}};
    Ending end = {sweep<T, K>(LOSS, f.params, -1, nullptr), 0, RAN_OUT};
    if (!is_finite(end.loss.total))
        end.status = NOT_FINITE;
    if (f.n > 0)
        descend(model, options, from_normal_equations(options), end.loss, end);
    return end;
}

} // namespace ceql::CEQL_ISA
