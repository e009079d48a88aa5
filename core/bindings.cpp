// The interface between Python and the core. It only checks arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include "arrays.hpp"
#include "batch.hpp"
#include "pair_bindings.hpp"
#include "sampling_bindings.hpp"

namespace nb = nanobind;
using namespace ceql;

namespace {

using OutVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using OutMatrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

// ---- arguments from Python
// --------------------------------------------------------------------------------------

class Tape {
public:
    Tape(int32_t n_inputs, const Array<int32_t, 2> &nodes, const Array<int32_t, 2> &edges,
         const Array<double, 1> &coefficients, int32_t n_params, int32_t output, const Array<int32_t, 1> &aux,
         const Array<int32_t, 1> &partner, const Array<double, 1> &lower, const Array<double, 1> &upper)
        : coefficients_(copied<double>(coefficients)), aux_(copied<int32_t>(aux)),
          partner_(copied<int32_t>(partner)), lower_(copied<double>(lower)), upper_(copied<double>(upper)) {
        require(nodes.shape(1) == 4, "nodes must have four columns: operator and three arguments");
        require(edges.shape(1) == 2, "edges must have two columns: source and parameter");
        require(edges.shape(0) == coefficients_.size(), "one coefficient per edge is needed");
        const size_t p = n_params < 0 ? 0 : size_t(n_params);
        require(partner_.size() == p && lower_.size() == p && upper_.size() == p,
                "partner, lower and upper need one entry per parameter");
        require(nodes.shape(0) < (1u << 24) && edges.shape(0) < (1u << 28) && p < (1u << 24) &&
                    n_inputs < (1 << 24),
                "the tape is too large");
        nodes_ = records<Node>(nodes);
        edges_ = records<Edge>(edges);
        for (size_t k = 0; k < p; ++k)
            require(lower_[k] <= upper_[k], "a lower bound lies above its upper bound");
        for (double c : coefficients_)
            require(std::isfinite(c), "coefficients must be finite");
        view_ = {n_inputs,      int32_t(nodes_.size()), int32_t(edges_.size()),
                 n_params,      int32_t(aux_.size()),   output,
                 nodes_.data(), edges_.data(),          coefficients_.data(),
                 aux_.data(),   partner_.data(),        lower_.data(),
                 upper_.data()};
        const std::string complaint = complaint_about(view_);
        require(complaint.empty(), complaint.c_str());
    }
    Tape(const Tape &) = delete;
    const TapeView &view() const { return view_; }

private:
    std::vector<Node> nodes_;
    std::vector<Edge> edges_;
    std::vector<double> coefficients_;
    std::vector<int32_t> aux_, partner_;
    std::vector<double> lower_, upper_;
    TapeView view_;
};

class Data {
public:
    Data(const Array<double, 2> &x, const Array<double, 1> &y, const Array<double, 1> &weight,
         bool single_precision, const Array<double, 2> &mixing)
        : n_(int64_t(x.shape(0))), n_inputs_(int32_t(x.shape(1))), is_mixed_(mixing.shape(0) > 0) {
        require(n_ > 0, "at least one sample is needed");
        require(int64_t(y.shape(0)) == n_ && int64_t(weight.shape(0)) == n_,
                "x, y and weight differ in length");
        for (int64_t i = 0; i < n_; ++i)
            require(std::isfinite(weight.data()[i]) && weight.data()[i] >= 0,
                    "weights must be finite and not negative");
        require(!is_mixed_ || int64_t(mixing.shape(1)) == n_, "a row of the mixing has a number per sample");
        const int64_t kept = int64_t(mixing.shape(0));
        if (single_precision)
            in_float_ = std::make_unique<Columns<float>>(x.data(), y.data(), weight.data(), n_, n_inputs_,
                                                         mixing.data(), kept);
        else
            in_double_ = std::make_unique<Columns<double>>(x.data(), y.data(), weight.data(), n_, n_inputs_,
                                                           mixing.data(), kept);
    }
    bool is_mixed() const { return is_mixed_; }
    int64_t n() const { return n_; }
    int32_t n_inputs() const { return n_inputs_; }
    // Calls f(kernel, view) with the precision of the data.
    template <class F> void with_kernel(F f) const {
        if (in_float_)
            f(kernel<float>(), in_float_->view());
        else
            f(kernel<double>(), in_double_->view());
    }

private:
    int64_t n_;
    int32_t n_inputs_;
    bool is_mixed_;
    std::unique_ptr<Columns<double>> in_double_;
    std::unique_ptr<Columns<float>> in_float_;
};

struct StopFlag {
    std::atomic<int32_t> value{0};
};

// ---- running a batch
// -------------------------------------------------------------------------------------------

struct Batch {
    const TapeView &tape;
    const Data &data;
    int64_t count;
    int32_t n_params;
    const uint8_t *masks;
    const double *given;
    OutMatrix params; // a copy that the kernels change; the threads make it row by row
    std::vector<Start> starts;
};

Batch open_batch(const Tape &tape, const Data &data, const Array<uint8_t, 2> &masks,
                 const Array<double, 2> &params) {
    const int32_t p = tape.view().n_params;
    require(data.n_inputs() == tape.view().n_inputs,
            "the tape and the data differ in their number of inputs");
    require(int32_t(params.shape(1)) == p && int32_t(masks.shape(1)) == p,
            "params and masks need a column per parameter");
    require(params.shape(0) == masks.shape(0), "params and masks differ in their number of starts");
    const int64_t count = int64_t(params.shape(0));
    Batch batch = {tape.view(),
                   data,
                   count,
                   p,
                   masks.data(),
                   params.data(),
                   unfilled_array<double>(count, p),
                   std::vector<Start>(count)};
    for (int64_t k = 0; k < count; ++k)
        batch.starts[k] = {masks.data() + k * p, nullptr, nullptr, nullptr, INFINITY, INFINITY, 0, STOPPED};
    return batch;
}

// Returns a start after making its own copy of the parameters in use.
Start &opened(Batch &batch, int64_t k) {
    Start &start = batch.starts[k];
    const int64_t first = k * batch.n_params;
    start.params = batch.params.data() + first;
    for (int32_t p = 0; p < batch.n_params; ++p)
        start.params[p] = start.mask[p] ? batch.given[first + p] : 0.0;
    return start;
}

// Runs work(kernel, view, start, arena) over all starts without the interpreter lock, and checks for Ctrl-C
// meanwhile.
template <class W>
void run_batch(Batch &batch, int threads, StopFlag *flag, double time_limit, const W &work) {
    StopFlag stop; // local to this call: a time limit must not look like a stop by the user
    const auto begin = std::chrono::steady_clock::now();
    bool interrupted = false;
    if (flag && flag->value)
        stop.value = 1;
    const auto idle = [&] {
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        nb::gil_scoped_acquire hold;
        interrupted = interrupted || PyErr_CheckSignals() != 0;
        return interrupted || (flag && flag->value) || (time_limit > 0 && seconds > time_limit);
    };
    {
        nb::gil_scoped_release release;
        batch.data.with_kernel([&](const auto &kernel, const auto &view) {
            share_work(
                batch.count, threads, stop.value,
                [&](int64_t k, Arena &arena) { work(kernel, view, opened(batch, k), stop, k, arena); }, idle);
        });
        for (int64_t k = 0; k < batch.count; ++k)
            if (!batch.starts[k].params)
                opened(batch, k); // not begun: returned unchanged
    }
    if (interrupted)
        throw nb::python_error();
}

nb::dict outcome(const Batch &batch) {
    auto objective = new_array<double>(batch.count), misfit = new_array<double>(batch.count);
    auto status = new_array<int32_t>(batch.count);
    auto iterations = new_array<int64_t>(batch.count);
    for (int64_t k = 0; k < batch.count; ++k) {
        objective.data()[k] = batch.starts[k].objective;
        misfit.data()[k] = batch.starts[k].misfit;
        status.data()[k] = batch.starts[k].status;
        iterations.data()[k] = batch.starts[k].iterations;
    }
    nb::dict result;
    result["params"] = batch.params;
    result["objective"] = objective;
    result["misfit"] = misfit;
    result["status"] = status;
    result["iterations"] = iterations;
    return result;
}

Penalties penalties_of(const Tape &tape, const Array<double, 1> &ridge, double lasso, double aux) {
    require(int32_t(ridge.size()) == tape.view().n_params, "ridge needs one entry per parameter");
    require(lasso >= 0 && aux >= 0, "penalties must not be negative");
    return {ridge.data(), lasso, aux};
}

OutMatrix values(const Tape &tape, const Data &data, const Array<uint8_t, 2> &masks,
                 const Array<double, 2> &params, int threads) {
    Batch batch = open_batch(tape, data, masks, params);
    OutMatrix out = new_array<double>(batch.count, data.n());
    run_batch(batch, threads, nullptr, 0,
              [&](auto &kernel, auto &view, Start &start, StopFlag &, int64_t k, Arena &arena) {
                  kernel.values(batch.tape, view, start, out.data() + k * data.n(), arena);
              });
    return out;
}

nb::tuple jacobian(const Tape &tape, const Data &data, const Array<uint8_t, 2> &mask,
                   const Array<double, 2> &params) {
    require(params.shape(0) == 1, "the Jacobian is taken of one start");
    Batch batch = open_batch(tape, data, mask, params);
    OutVector value = new_array<double>(data.n());
    OutMatrix out = new_array<double>(data.n(), batch.n_params);
    run_batch(batch, 1, nullptr, 0,
              [&](auto &kernel, auto &view, Start &start, StopFlag &, int64_t, Arena &arena) {
                  kernel.jacobian(batch.tape, view, start, value.data(), out.data(), arena);
              });
    return nb::make_tuple(value, out);
}

nb::dict gradient(const Tape &tape, const Data &data, const Array<uint8_t, 2> &masks,
                  const Array<double, 2> &params, const Array<double, 1> &ridge, double lasso, double aux,
                  int threads) {
    const Penalties penalties = penalties_of(tape, ridge, lasso, aux);
    Batch batch = open_batch(tape, data, masks, params);
    OutMatrix out = new_array<double>(batch.count, batch.n_params);
    run_batch(batch, threads, nullptr, 0,
              [&](auto &kernel, auto &view, Start &start, StopFlag &, int64_t k, Arena &arena) {
                  kernel.gradient(batch.tape, view, penalties, start, out.data() + k * batch.n_params, arena);
              });
    nb::dict result = outcome(batch);
    result["gradient"] = out;
    return result;
}

nb::dict objective(const Tape &tape, const Data &data, const Array<uint8_t, 2> &masks,
                   const Array<double, 2> &params, const Array<double, 1> &ridge, double lasso, double aux,
                   int threads) {
    const Penalties penalties = penalties_of(tape, ridge, lasso, aux);
    Batch batch = open_batch(tape, data, masks, params);
    run_batch(batch, threads, nullptr, 0,
              [&](auto &kernel, auto &view, Start &start, StopFlag &, int64_t, Arena &arena) {
                  kernel.objective(batch.tape, view, penalties, start, arena);
              });
    return outcome(batch);
}

nb::dict adam(const Tape &tape, const Data &data, const Array<uint8_t, 2> &masks,
              const Array<double, 2> &params, const Array<double, 1> &ridge, double lasso, double aux,
              int64_t steps, double rate, double beta1, double beta2, double epsilon, int64_t patience,
              double factor, double minimum_rate, double threshold, bool keep_best, bool resumable,
              std::optional<Array<double, 2>> moments, std::optional<Array<double, 2>> state, int threads,
              StopFlag *stop, double time_limit) {
    const Penalties penalties = penalties_of(tape, ridge, lasso, aux);
    const AdamOptions options = {steps,    rate,   beta1,        beta2,     epsilon,
                                 patience, factor, minimum_rate, threshold, keep_best};
    Batch batch = open_batch(tape, data, masks, params);
    const size_t width = 2 * size_t(batch.n_params), kept = resumable ? size_t(batch.count) : 0;
    require(resumable || !(moments || state), "a run that goes on can be gone on with");
    OutMatrix new_moments = new_array<double>(kept, width), new_state = new_array<double>(kept, 4);
    if (moments) {
        require(moments->shape(0) == size_t(batch.count) && moments->shape(1) == width,
                "moments have the wrong shape");
        std::copy_n(moments->data(), moments->size(), new_moments.data());
    }
    if (state) {
        require(state->shape(0) == size_t(batch.count) && state->shape(1) == 4, "state has the wrong shape");
        std::copy_n(state->data(), state->size(), new_state.data());
    }
    for (size_t k = 0; k < kept; ++k) {
        batch.starts[k].moments = new_moments.data() + k * width;
        batch.starts[k].state = new_state.data() + k * 4;
    }
    run_batch(batch, threads, stop, time_limit,
              [&](auto &kernel, auto &view, Start &start, StopFlag &flag, int64_t, Arena &arena) {
                  kernel.adam(batch.tape, view, penalties, options, start, flag.value, arena);
              });
    nb::dict result = outcome(batch);
    if (resumable) {
        result["moments"] = new_moments;
        result["state"] = new_state;
    }
    return result;
}

nb::dict levenberg(const Tape &tape, const Data &data, const Array<uint8_t, 2> &masks,
                   const Array<double, 2> &params, const Array<double, 1> &ridge, double aux,
                   int64_t iterations, double damping, double target, double least_reduction, bool separable,
                   int threads, StopFlag *stop, double time_limit) {
    const Penalties penalties = penalties_of(tape, ridge, 0.0, aux);
    const LevenbergOptions options = {iterations, damping, target, least_reduction, separable};
    require(separable || !data.is_mixed(), "only separable least squares take samples that are mixed");
    Batch batch = open_batch(tape, data, masks, params);
    run_batch(batch, threads, stop, time_limit,
              [&](auto &kernel, auto &view, Start &start, StopFlag &flag, int64_t, Arena &arena) {
                  kernel.levenberg(batch.tape, view, penalties, options, start, flag.value, arena);
              });
    return outcome(batch);
}

} // namespace

NB_MODULE(_core, m) {
    // Tapes are cached until the process ends, which is no leak worth a warning.
    nb::set_leak_warnings(false);
    m.doc() = "Fits batches of small differentiable programs. Use it through ceql.engine.";
    nb::class_<Tape>(m, "Tape").def(
        nb::init<int32_t, const Array<int32_t, 2> &, const Array<int32_t, 2> &, const Array<double, 1> &,
                 int32_t, int32_t, const Array<int32_t, 1> &, const Array<int32_t, 1> &,
                 const Array<double, 1> &, const Array<double, 1> &>(),
        nb::arg("n_inputs"), nb::arg("nodes"), nb::arg("edges"), nb::arg("coefficients"), nb::arg("n_params"),
        nb::arg("output"), nb::arg("aux"), nb::arg("partner"), nb::arg("lower"), nb::arg("upper"));
    nb::class_<Data>(m, "Data").def(nb::init<const Array<double, 2> &, const Array<double, 1> &,
                                             const Array<double, 1> &, bool, const Array<double, 2> &>(),
                                    nb::arg("x"), nb::arg("y"), nb::arg("weight"),
                                    nb::arg("single_precision"), nb::arg("mixing"));
    nb::class_<StopFlag>(m, "StopFlag")
        .def(nb::init<>())
        .def("set", [](StopFlag &self) { self.value = 1; })
        .def("is_set", [](const StopFlag &self) { return self.value != 0; });
    m.def("values", &values, nb::arg("tape"), nb::arg("data"), nb::arg("masks"), nb::arg("params"),
          nb::arg("threads"));
    m.def("jacobian", &jacobian, nb::arg("tape"), nb::arg("data"), nb::arg("mask"), nb::arg("params"));
    m.def("gradient", &gradient, nb::arg("tape"), nb::arg("data"), nb::arg("masks"), nb::arg("params"),
          nb::arg("ridge"), nb::arg("lasso"), nb::arg("aux"), nb::arg("threads"));
    m.def("objective", &objective, nb::arg("tape"), nb::arg("data"), nb::arg("masks"), nb::arg("params"),
          nb::arg("ridge"), nb::arg("lasso"), nb::arg("aux"), nb::arg("threads"));
    m.def("adam", &adam, nb::arg("tape"), nb::arg("data"), nb::arg("masks"), nb::arg("params"),
          nb::arg("ridge"), nb::arg("lasso"), nb::arg("aux"), nb::arg("steps"), nb::arg("rate"),
          nb::arg("beta1"), nb::arg("beta2"), nb::arg("epsilon"), nb::arg("patience"), nb::arg("factor"),
          nb::arg("minimum_rate"), nb::arg("threshold"), nb::arg("keep_best"), nb::arg("resumable"),
          nb::arg("moments").none(), nb::arg("state").none(), nb::arg("threads"), nb::arg("stop").none(),
          nb::arg("time_limit"));
    m.def("levenberg", &levenberg, nb::arg("tape"), nb::arg("data"), nb::arg("masks"), nb::arg("params"),
          nb::arg("ridge"), nb::arg("aux"), nb::arg("iterations"), nb::arg("damping"), nb::arg("target"),
          nb::arg("least_reduction"), nb::arg("separable"), nb::arg("threads"), nb::arg("stop").none(),
          nb::arg("time_limit"));
    bind_sampling(m);
    bind_pairs(m);
    m.def("instruction_sets", &instruction_sets);
    m.def("instruction_set", &instruction_set);
    m.def("use_instruction_set", &use_instruction_set, nb::arg("name"));
    nb::dict opcodes;
    for (int k = 0; k < N_OPS; ++k)
        opcodes[op_names[k]] = k;
    m.attr("OPCODES") = opcodes;
}
