// Adam on a warp; each thread handles some of the parameters.
#pragma once
#include "problem.cuh"
#include "sweep.cuh"

namespace ceql::CEQL_ISA {

constexpr int steps_between_looks = 8; // steps between two checks of the host's stop flag

template <class T> inline bool is_stopped(const Problem<T> &problem) {
    return __shfl_sync(everyone, lane_id() == 0 ? *problem.stop : 0, 0) != 0;
}

struct Ending {
    Loss loss;
    int64_t iterations;
    int32_t status;
};

inline void copy_vector(int to, int from, int n) {
    for (int k = lane_id(); k < n; k += warp)
        shared_at<double>(to)[k] = shared_at<double>(from)[k];
    __syncwarp();
}

template <class T, int K>
Ending run_adam(const Problem<T> &problem, const AdamOptions &options, int64_t row) {
    const Fit<T, K> f = own_fit<T, K>();
    const int first = f.a, second = f.b, gradient = f.c, best = f.d;
    const int64_t n_all = problem.tape.n_params;
    double *moments = problem.moments ? problem.moments + 2 * n_all * row : nullptr;
    double *kept = problem.state ? problem.state + 4 * row : nullptr;
    AdamState state = {0, options.rate, INFINITY, 0};
    if (kept && kept[0] > 0)
        state = {kept[0], kept[1], kept[2], kept[3]};
    for (int k = lane_id(); k < f.n; k += warp) {
        const int full = shared_at<int32_t>(f.param_index)[k];
        shared_at<double>(first)[k] = moments ? moments[full] : 0.0;
        shared_at<double>(second)[k] = moments ? moments[n_all + full] : 0.0;
    }
    Ending end = {{0, 0}, 0, RAN_OUT};
    double best_loss = INFINITY, bias1 = 1, bias2 = 1;
    for (; end.iterations < options.steps; ++end.iterations) {
        const int turn = int(end.iterations % warp);
        if (turn % steps_between_looks == 0 && is_stopped(problem)) {
            end.status = STOPPED;
            break;
        }
        const Loss loss = sweep<T, K>(GRADIENT, f.params, gradient, nullptr);
        if (!is_finite(loss.total)) {
            end.status = NOT_FINITE;
            break;
        }
        if (options.keep_best && loss.total < best_loss) {
            best_loss = loss.total;
            copy_vector(best, f.params, f.n);
        }
        // Powers are expensive: each thread computes them for one of the next steps.
        if (turn == 0) {
            bias1 = 1 - pow(options.beta1, state.count + 1 + lane_id());
            bias2 = 1 - pow(options.beta2, state.count + 1 + lane_id());
        }
        state.count += 1;
        const double size = state.rate / __shfl_sync(everyone, bias1, turn);
        const double root = 1 / sqrt(__shfl_sync(everyone, bias2, turn));
        for (int k = lane_id(); k < f.n; k += warp) {
            const double moved = moved_by_adam(options, size, root, shared_at<double>(gradient)[k],
                                               shared_at<double>(f.params)[k], shared_at<double>(first)[k],
                                               shared_at<double>(second)[k]);
            shared_at<double>(f.params)[k] =
                smaller(larger(moved, shared_at<double>(f.lower)[k]), shared_at<double>(f.upper)[k]);
        }
        follow_plateau(state, options, loss.total);
    }
    for (int k = lane_id(); k < f.n && moments; k += warp) {
        const int full = shared_at<int32_t>(f.param_index)[k];
        moments[full] = shared_at<double>(first)[k];
        moments[n_all + full] = shared_at<double>(second)[k];
    }
    if (kept && lane_id() == 0) {
        kept[0] = state.count;
        kept[1] = state.rate;
        kept[2] = state.best;
        kept[3] = state.bad;
    }
    end.loss = sweep<T, K>(LOSS, f.params, -1, nullptr);
    if (best_loss < end.loss.total || (best_loss < INFINITY && !is_finite(end.loss.total))) {
        copy_vector(f.params, best, f.n);
        end.loss = sweep<T, K>(LOSS, f.params, -1, nullptr);
    }
    return end;
}

} // namespace ceql::CEQL_ISA
