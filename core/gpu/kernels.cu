// The entry points of the GPU. A block is one warp and fits one start after
// another. Nothing here depends on the tape, so the module is compiled once per
// machine.
#include "separable.cuh"

namespace ceql::CEQL_ISA {

template <class T> inline int32_t next_start(const Problem<T> &problem) {
    const int32_t ticket = lane_id() == 0 ? atomicAdd(problem.counter, 1) : 0;
    return __shfl_sync(everyone, ticket, 0);
}

template <class T> inline Pile scratch_of(const Problem<T> &problem) {
    return {problem.scratch + blockIdx.x * (problem.scratch_size + problem.normal_size), 0};
}

// Computes how much shared memory each start needs.
template <class T, int K> inline void plan_all(const Problem<T> &problem) {
    for (int64_t row = blockIdx.x; row < problem.count && lane_id() == 0; row += gridDim.x) {
        Pile scratch = scratch_of(problem);
        Plan<T> plan;
        lay_out<T>(problem.tape, problem.masks + row * problem.tape.n_params, scratch, plan);
        problem.needs[2 * row] = map_memory<T, K>(plan).bytes;
        problem.needs[2 * row + 1] = plan.n_params;
    }
}

template <class T, int K>
inline Fit<T, K> open_fit(const Problem<T> &problem, int64_t row, char *scratch_memory) {
    // One thread makes the plan; its pointers are the same for all threads.
    Plan<T> &plan = *reinterpret_cast<Plan<T> *>(scratch_memory);
    Pile scratch = {scratch_memory, 0};
    scratch.take(sizeof(Plan<T>));
    __syncwarp();
    if (lane_id() == 0)
        lay_out<T>(problem.tape, problem.masks + row * problem.tape.n_params, scratch, plan);
    __syncwarp();
    Fit<T, K> f = map_memory<T, K>(plan);
    copy_to_shared(f.steps, plan.steps, plan.n_steps);
    copy_to_shared(f.links, plan.links, plan.n_links);
    copy_to_shared(f.terms, plan.terms, plan.n_terms);
    copy_to_shared(f.loads, plan.loads, plan.n_loads);
    copy_to_shared(f.outputs, plan.outputs, plan.n_outputs);
    copy_to_shared(f.partner, plan.partner, plan.n_params);
    copy_to_shared(f.param_index, plan.param_index, plan.n_params);
    for (int k = lane_id(); k <= f.n; k += warp)
        shared_at<uint16_t>(f.term_first)[k] = plan.term_first[k];
    const double *params = problem.params + row * problem.tape.n_params;
    for (int k = lane_id(); k < f.n; k += warp) {
        const int full = plan.param_index[k];
        const double lower = problem.tape.lower[full], upper = problem.tape.upper[full];
        shared_at<double>(f.lower)[k] = lower;
        shared_at<double>(f.upper)[k] = upper;
        shared_at<double>(f.params)[k] = smaller(larger(params[full], lower), upper);
    }
    f.n_samples = problem.data.n;
    f.padded = problem.data.padded;
    f.data = problem.data.columns;
    f.y = problem.data.y;
    f.weight = problem.data.weight;
    __syncwarp();
    return f;
}

template <class T> inline void report(const Problem<T> &problem, int64_t row, const Ending &end) {
    problem.objective[row] = end.loss.total;
    problem.misfit[row] = end.loss.misfit;
    problem.iterations[row] = end.iterations;
    problem.status[row] = end.status;
}

template <class T, int K> inline void fit_all(const Problem<T> &problem) {
    char *scratch = scratch_of(problem).base;
    for (int32_t ticket = next_start(problem); ticket < problem.count; ticket = next_start(problem)) {
        const int64_t row = problem.order[ticket];
        if (is_stopped(problem)) {
            if (lane_id() == 0)
                report(problem, row, {{INFINITY, INFINITY}, 0, STOPPED});
            continue;
        }
        Fit<T, K> f = open_fit<T, K>(problem, row, scratch);
        Ending end = {{INFINITY, INFINITY}, 0, STOPPED};
        for (int64_t k = 0; k < problem.n_stages; ++k) {
            const Stage &stage = problem.stages[k];
            for (int p = lane_id(); p < f.n; p += warp)
                shared_at<double>(f.ridge)[p] = stage.penalties.ridge[shared_at<int32_t>(f.param_index)[p]];
            __syncwarp();
            f.lasso = stage.is_adam ? stage.penalties.lasso : 0.0;
            f.aux_weight = stage.penalties.aux / double(f.n_samples);
            f.uses_aux = f.aux_weight != 0.0;
            if (lane_id() == 0)
                *shared_at<Fit<T, K>>(0) = f;
            __syncwarp();
            double *const matrices = reinterpret_cast<double *>(scratch + problem.scratch_size);
            if (stage.is_adam)
                end = run_adam<T, K>(problem, stage.adam, row);
            else if (stage.levenberg.separable)
                end = run_separable<T, K>(problem, stage.levenberg, matrices);
            else
                end = run_levenberg<T, K>(problem, stage.levenberg, matrices);
        }
        for (int k = lane_id(); k < f.n; k += warp)
            problem.params[row * problem.tape.n_params + shared_at<int32_t>(f.param_index)[k]] =
                shared_at<double>(f.params)[k];
        if (lane_id() == 0)
            report(problem, row, end);
        __syncwarp();
    }
}

} // namespace ceql::CEQL_ISA

using ceql::CEQL_ISA::Problem;

// Restores rows of parameters from the live ones, which the host packs; the others are zero. A block is one
// warp.
extern "C" __global__ void unpack(const unsigned char *masks, const double *values, const long long *first,
                                  int n_params, int count, double *params) {
    const int lane = int(threadIdx.x);
    for (long long row = blockIdx.x; row < count; row += gridDim.x) {
        long long at = first[row];
        for (int begin = 0; begin < n_params; begin += 32) {
            const int k = begin + lane;
            const bool live = k < n_params && masks[row * n_params + k];
            const unsigned all = __ballot_sync(0xffffffffu, live);
            if (k < n_params)
                params[row * n_params + k] = live ? values[at + __popc(all & ((1u << lane) - 1u))] : 0.0;
            at += __popc(all);
        }
    }
}

using Number = CEQL_NUMBER;
constexpr int samples_per_thread = CEQL_SAMPLES_PER_THREAD;

extern "C" __global__ void __launch_bounds__(32) plan(const Problem<Number> *problem) {
    ceql::CEQL_ISA::plan_all<Number, samples_per_thread>(*problem);
}

// With this many blocks per multiprocessor, registers are no tighter a limit than shared memory.
extern "C" __global__ void __launch_bounds__(32, CEQL_BLOCKS) fit(const Problem<Number> *problem) {
    ceql::CEQL_ISA::fit_all<Number, samples_per_thread>(*problem);
}
