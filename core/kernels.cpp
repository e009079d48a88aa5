// Compiled once per instruction set; everything in it is in a namespace of that name.
#include "adam.hpp"
#include "pairs.hpp"
#include "separable.hpp"

namespace ceql::CEQL_ISA {

template <class T>
void compute_values(const TapeView &tape, const DataView<T> &data, Start &start, double *out, Arena &arena) {
    const Penalties none = {nullptr, 0, 0};
    Fit<T> fit = open_fit<T>(tape, data, none, start, arena);
    set_parameters<T>(fit.program, fit.params);
    for (int64_t begin = 0; begin < data.padded; begin += block_size<T>) {
        const int n = true_samples<T>(data, begin, enter_block<T>(fit.program, data, begin));
        forward<T, false>(fit.program, round_up(n, stride<T>));
        for (int i = 0; i < n; ++i)
            out[begin + i] = double(fit.program.value[fit.program.outputs[0]][i]);
    }
}

template <class T>
void compute_jacobian(const TapeView &tape, const DataView<T> &data, Start &start, double *values,
                      double *out, Arena &arena) {
    const Penalties none = {nullptr, 0, 0};
    Fit<T> fit = open_fit<T>(tape, data, none, start, arena);
    Program<T> &p = fit.program;
    set_parameters<T>(p, fit.params);
    T *columns = take<T>(arena, size_t(fit.n + 1) * block_size<T>);
    for (int64_t begin = 0; begin < data.padded; begin += block_size<T>) {
        const int padded = enter_block<T>(p, data, begin), n = true_samples<T>(data, begin, padded);
        forward<T, true>(p, padded);
        clear_adjoints<T>(p, 1, padded);
        T *seed = p.adjoint[p.outputs[0]];
        for (int i = 0; i < padded && seed; ++i)
            seed[i] = T(1);
        if (seed)
            backward_jacobian<T>(p, 0, padded, columns);
        for (int i = 0; i < n; ++i) {
            values[begin + i] = double(p.value[p.outputs[0]][i]);
            for (int k = 0; k < fit.n && seed; ++k)
                out[size_t(begin + i) * tape.n_params + p.param_index[k]] =
                    double(columns[size_t(k) * block_size<T> + i]);
        }
    }
}

template <class T>
void compute_gradient(const TapeView &tape, const DataView<T> &data, const Penalties &penalties, Start &start,
                      double *out, Arena &arena) {
    Fit<T> fit = open_fit<T>(tape, data, penalties, start, arena);
    double *gradient = take<double>(arena, fit.n);
    const Loss loss = evaluate_with_gradient<T>(fit, fit.params, gradient);
    for (int k = 0; k < fit.n; ++k)
        out[fit.program.param_index[k]] = gradient[k];
    start.objective = loss.total;
    start.misfit = loss.misfit;
}

template <class T>
void compute_objective(const TapeView &tape, const DataView<T> &data, const Penalties &penalties,
                       Start &start, Arena &arena) {
    Fit<T> fit = open_fit<T>(tape, data, penalties, start, arena);
    const Loss loss = evaluate<T>(fit, fit.params);
    start.objective = loss.total;
    start.misfit = loss.misfit;
}

template <class T>
void run_least_squares(const TapeView &tape, const SampleView<T> &data, const Penalties &penalties,
                       const LevenbergOptions &options, Start &start, StopSignal stop, Arena &arena) {
    if (options.separable)
        run_separable<T>(tape, data, penalties, options, start, stop, arena);
    else
        run_levenberg<T>(tape, data, penalties, options, start, stop, arena);
}

template <class T> Kernel<T> make_kernel() {
    return {lane_count<T>,        compute_values<T>,    compute_jacobian<T>,
            compute_gradient<T>,  compute_objective<T>, run_adam<T>,
            run_least_squares<T>, lay_out_panel<T>,     pair_gains<T>};
}

Kernel<double> kernel_double() { return make_kernel<double>(); }
Kernel<float> kernel_float() { return make_kernel<float>(); }

} // namespace ceql::CEQL_ISA
