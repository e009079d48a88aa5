// Separable least squares on a warp, step by step as in core/separable.hpp: the weights of the model's last
// sum are solved for at every step, with the R of a QR factorisation.
#pragma once
#include "levenberg.cuh"

namespace ceql::CEQL_ISA {

// Whether a weight enters linearly: all its links lead to the readout, and it has no penalty and no bounds.
template <class T, int K> inline bool is_linear(const Fit<T, K> &f, const Step &readout, int parameter) {
    const uint64_t seen = f.uses_aux ? ~uint64_t(0) : 1;
    if ((readout.outputs & seen) != 1 || shared_at<double>(f.lower)[parameter] > -INFINITY ||
        shared_at<double>(f.upper)[parameter] < INFINITY)
        return false;
#pragma unroll 1
    for (int e = 0; e < f.n_links; ++e)
        if (shared_at<Link<T>>(f.links)[e].parameter == parameter && (e < readout.first || e >= readout.last))
            return false;
    return true;
}

// Returns the step that is the model's last sum, or -1.
template <class T, int K> inline int find_readout(const Fit<T, K> &f) {
    int found = -1;
#pragma unroll 1
    for (int k = 0; k < f.n_steps; ++k) {
        const Step &step = shared_at<Step>(f.steps)[k];
        if (step.op == LINEAR && step.value == shared_at<Output>(f.outputs)[0].value)
            found = k;
    }
    return found;
}

// Determines the order of the columns, weights of the readout first, and returns the number of these weights.
template <class T, int K> inline int order_columns(const Fit<T, K> &f, int readout) {
    int placed = 0, n_linear = 0;
    for (int turn = 0; turn < 2; ++turn) {
#pragma unroll 1
        for (int first = 0; first < f.n; first += warp) {
            const int p = first + lane_id();
            const bool linear = p < f.n && readout >= 0 && is_linear(f, shared_at<Step>(f.steps)[readout], p);
            const unsigned now = __ballot_sync(everyone, p < f.n && linear == (turn == 0));
            if (now >> lane_id() & 1)
                shared_at<int32_t>(f.order)[placed + __popc(now & ((1u << lane_id()) - 1))] = p;
            placed += __popc(now);
        }
        n_linear = turn == 0 ? placed : n_linear;
    }
    __syncwarp();
    return n_linear;
}

// Fills the columns that the weights of the readout multiply, and the residual, for the samples of row u of
// the tile.
template <class T, int K>
inline void fill_weight_columns(const Fit<T, K> &f, int readout, int64_t start, int u) {
    const int i = u * warp + lane_id();
    T *column = shared_at<T>(f.columns) + lane_id();
    const T root = sqrt(f.weight[start + i]);
    const Step &step = shared_at<Step>(f.steps)[readout < 0 ? 0 : readout];
#pragma unroll 1
    for (int e = step.first; e < step.last && readout >= 0; ++e) {
        const Link<T> &link = shared_at<Link<T>>(f.links)[e];
        if (link.parameter == none)
            continue;
        const T d = link.coefficient * root * cell(f, link.x)[i];
        T &place = column[link.parameter * column_pitch];
        place = link.begins ? d : place + d;
    }
    const T value = cell(f, shared_at<Output>(f.outputs)[0].value)[i];
    column[f.n * column_pitch] = root * (value - f.y[start + i]);
}

// Fits all parameters except the weights of the readout, which are determined by them. Vectors in the order
// of the columns: a holds the damping scales, b which parameters stay at a bound, c the step and e the slope.
// d holds the trial.
template <class T, int K> struct Projected {
    const Problem<T> &problem;
    const Fit<T, K> f;
    const int readout, n_linear, n_others;
    const Triangle full, weights; // with all columns, and with only those of the weights
    int top;                      // the row of `full` where the other parameters begin

    bool is_stopped() const { return ceql::CEQL_ISA::is_stopped(problem); }
    int parameter_of(int k) const { return shared_at<int32_t>(f.order)[n_linear + k]; }

    // Folds the samples into the triangle of the weights; returns a thread's part of the sum of squared
    // penalties.
    double fold_weights(int params) {
        set_parameters(f, params);
        weights.clear();
        double misfit = 0.0, aux = 0.0;
#pragma unroll 1
        for (int64_t start = 0; start < f.n_samples; start += K * warp) {
            enter_tile(f, start);
            forward<T, K>(false);
            add_losses(f, start, misfit, aux);
#pragma unroll 1
            for (int u = 0; u < K; ++u) {
                __syncwarp();
                fill_weight_columns(f, readout, start, u);
                fold<T, K>(weights);
            }
        }
        return aux;
    }

    // Solves for the weights of the readout from a settled triangle and writes them into `params`.
    void solve_weights(int params) {
        double *const at = shared_at<double>(params);
        const int32_t *const order = shared_at<int32_t>(f.order);
#pragma unroll 1
        for (int j = n_linear - 1; j >= 0; --j) {
            const int row = shared_at<int32_t>(f.pivot)[j];
            if (row < 0)
                continue;
            double known = 0.0;
#pragma unroll 1
            for (int k = j + 1 + lane_id(); k < n_linear; k += warp)
                known += weights.at(row, k) * at[order[k]];
            known = warp_sum(known);
            if (lane_id() == 0)
                at[order[j]] = (-weights.at(row, n_linear) - known) / weights.at(row, j);
            __syncwarp();
        }
    }

    // Solves for the weights of the readout, given the other parameters in `params`, and writes them into it.
    Loss project(int params) {
        double *const at = shared_at<double>(params);
        const int32_t *const order = shared_at<int32_t>(f.order);
#pragma unroll 1
        for (int j = lane_id(); j < n_linear; j += warp)
            at[order[j]] = 0.0;
        __syncwarp();
        const double aux = fold_weights(params);
        const double elsewhere = warp_sum(ridge_penalty(f, params) + f.aux_weight * aux);
        fold_ridge(f, weights, params);
        if (settle(weights, n_linear, rounding_left<T>, f.pivot) < 0)
            return {INFINITY, INFINITY};
        solve_weights(params);
        const double rest = weights.at(shared_at<int32_t>(f.pivot)[n_linear], n_linear);
        double on_weights = 0.0;
#pragma unroll 1
        for (int j = lane_id(); j < n_linear; j += warp)
            on_weights += shared_at<double>(f.ridge)[order[j]] * at[order[j]] * at[order[j]];
        return {larger(rest * rest - warp_sum(on_weights), 0.0), rest * rest + elsewhere};
    }

    // Computes half the slope of the projected objective, the damping scales, and which parameters stay at a
    // bound.
    bool linearise() {
        sweep_triangle<T, K>(f.params, full.memory);
        fold_ridge(f, full, f.params);
        top = settle(full, n_linear, rounding_left<T>, f.pivot);
        double largest = 0.0;
        bool finite = top >= 0;
#pragma unroll 1
        for (int k = lane_id(); k < n_others && finite; k += warp) {
            double slope = 0.0, diagonal = 0.0;
#pragma unroll 1
            for (int i = top; i <= top + k; ++i) {
                const double own = full.at(i, n_linear + k);
                slope += own * full.at(i, f.n);
                diagonal += own * own;
            }
            shared_at<double>(f.e)[k] = slope;
            shared_at<double>(f.a)[k] = diagonal;
            largest = larger(largest, diagonal);
            finite = is_finite(diagonal) && is_finite(slope);
        }
        if (!__all_sync(everyone, finite))
            return false;
        largest = warp_maximum(largest);
#pragma unroll 1
        for (int k = lane_id(); k < n_others; k += warp) {
            const int p = parameter_of(k);
            shared_at<double>(f.a)[k] = scale_of(shared_at<double>(f.a)[k], largest);
            shared_at<double>(f.b)[k] = is_held(shared_at<double>(f.params)[p], shared_at<double>(f.lower)[p],
                                                shared_at<double>(f.upper)[p], shared_at<double>(f.e)[k]);
        }
        __syncwarp();
        return true;
    }

    // The part of R for the other parameters, in the memory of columns and cells, with the rows of the
    // damping below the diagonal: column j of these is in row j + 1. Each thread handles some of the columns.
    int pitch() const { return (n_others + 1) | 1; } // odd, so that the threads of a row read different banks
    double &upper(int i, int j) const { return shared_at<double>(f.columns)[i * pitch() + j]; }
    double *damped(int j) const { return shared_at<double>(f.columns) + (j + 1) * pitch(); }

    void copy_others(double damping) {
        const double *hold = shared_at<double>(f.b), *diagonal = shared_at<double>(f.a);
        __syncwarp();
#pragma unroll 1
        for (int i = 0; i < n_others; ++i)
#pragma unroll 1
            for (int j = i + lane_id(); j <= n_others; j += warp) {
                const bool out = j < n_others && hold[j] != 0.0;
                upper(i, j) = out ? 0.0 : full.at(top + i, n_linear + j);
                damped(j)[i] = i != j ? 0.0 : out ? 1.0 : sqrt(damping * diagonal[i]);
            }
        __syncwarp();
    }

    void fold_damping() {
#pragma unroll 1
        for (int j = 0; j < n_others; ++j) {
            const double *v = damped(j), own = upper(j, j);
            double below = 0.0;
#pragma unroll 1
            for (int i = lane_id(); i <= j; i += warp)
                below += v[i] * v[i];
            below = warp_sum(below);
            if (below == 0.0)
                continue;
            const Reflection by = reflection(own, below);
#pragma unroll 1
            for (int k = j + 1 + lane_id(); k <= n_others; k += warp) {
                double *x = damped(k), along = by.head * upper(j, k);
#pragma unroll 1
                for (int i = 0; i <= j; ++i)
                    along += v[i] * x[i];
                upper(j, k) -= by.tau * along * by.head;
#pragma unroll 1
                for (int i = 0; i <= j; ++i)
                    x[i] -= by.tau * along * v[i];
            }
            __syncwarp();
            if (lane_id() == 0)
                upper(j, j) = by.corner;
            __syncwarp();
        }
    }

    // Finds the step that minimises |R22 step + z2|^2 + damping |scaled step|^2, by a QR factorisation of
    // both blocks stacked.
    bool solve(double damping) {
        copy_others(damping);
        fold_damping();
        bool finite = true;
#pragma unroll 1
        for (int k = n_others - 1; k >= 0; --k) {
            const double known = -upper(k, n_others) / upper(k, k);
            finite = finite && is_finite(known);
            __syncwarp();
            if (lane_id() == 0)
                shared_at<double>(f.c)[k] = known;
#pragma unroll 1
            for (int i = lane_id(); i < k; i += warp)
                upper(i, n_others) += upper(i, k) * known;
            __syncwarp();
        }
        return finite;
    }

    double move(double damping) {
        double promised = 0.0;
#pragma unroll 1
        for (int k = lane_id(); k < n_others; k += warp) {
            const int p = parameter_of(k);
            const double s = shared_at<double>(f.c)[k], moved = shared_at<double>(f.params)[p] + s;
            shared_at<double>(f.d)[p] =
                smaller(larger(moved, shared_at<double>(f.lower)[p]), shared_at<double>(f.upper)[p]);
            if (shared_at<double>(f.b)[k] == 0.0)
                promised += s * (damping * shared_at<double>(f.a)[k] * s - shared_at<double>(f.e)[k]);
        }
        return warp_sum(promised);
    }

    Loss judge() { return project(f.d); }
    void accept() { copy_vector(f.params, f.d, f.n); }
};

template <class T, int K>
__noinline__ Ending run_separable(const Problem<T> &problem, const LevenbergOptions &options,
                                  double *scratch) {
    const Fit<T, K> f = own_fit<T, K>();
    const int readout = find_readout(f), n_linear = order_columns(f, readout), n = f.n;
    const int pitch = in_whole_units(n + 1, 8);
    double *const given_params = scratch + 2 * pitch * pitch;
    Projected<T, K> model = {problem,
                             f,
                             readout,
                             n_linear,
                             n - n_linear,
                             {n + 1, pitch, scratch},
                             {n_linear + 1, pitch, scratch + pitch * pitch},
                             0};
#pragma unroll 1
    for (int k = lane_id(); k < n; k += warp)
        given_params[k] = shared_at<double>(f.params)[k];
    const Loss given = sweep<T, K>(LOSS, f.params, -1, nullptr);
    Ending end = {model.project(f.params), 0, RAN_OUT};
    end.status = !is_finite(end.loss.total) ? NOT_FINITE : model.n_others > 0 ? RAN_OUT : CONVERGED;
    descend(model, options, from_projection(options), end.loss, end);
    end.loss = sweep<T, K>(LOSS, f.params, -1, nullptr); // includes the rounding of the weights
    if (end.loss.total <= given.total || !is_finite(given.total))
        return end;
#pragma unroll 1
    for (int k = lane_id(); k < n; k += warp)
        shared_at<double>(f.params)[k] = given_params[k];
    __syncwarp();
    end.loss = given;
    return end;
}

} // namespace ceql::CEQL_ISA
