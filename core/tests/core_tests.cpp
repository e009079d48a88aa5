// Tests of the core without Python or a test framework, so that it can be built with sanitisers. Every check
// runs for every instruction set and both precisions. Prints "N passed, M failed" and fails if M > 0.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../batch.hpp"

using namespace ceql;
namespace {

int passed = 0, failed = 0;
std::string context = "general";

void check(bool good, const std::string &what) {
    good ? ++passed : ++failed;
    if (!good)
        std::printf("FAILED [%s] %s\n", context.c_str(), what.c_str());
}

constexpr double infinity = HUGE_VAL;

// ---- building tapes

struct Term {
    int32_t source, parameter;
    double coefficient;
};

// A tape that owns its arrays. Slots count inputs, the constant one, then nodes in order.
struct Tape {
    explicit Tape(int32_t inputs) : n_inputs(inputs) {}
    int32_t n_inputs, output = 0;
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::vector<double> coefficients, lower, upper;
    std::vector<int32_t> aux, partner;

    int32_t one() const { return n_inputs; }
    int32_t parameter(double low = -infinity, double high = infinity) {
        lower.push_back(low);
        upper.push_back(high);
        partner.push_back(-1);
        return int32_t(lower.size()) - 1;
    }
    int32_t linear(const std::vector<Term> &terms) {
        const int32_t first = int32_t(edges.size());
        for (const Term &term : terms) {
            edges.push_back({term.source, term.parameter});
            coefficients.push_back(term.coefficient);
        }
        return add({LINEAR, first, int32_t(terms.size()), -1});
    }
    int32_t op(int32_t code, int32_t a, int32_t b = -1, int32_t c = -1) { return add({code, a, b, c}); }
    int32_t add(Node node) {
        nodes.push_back(node);
        return n_inputs + int32_t(nodes.size());
    }
    // p * x + q over all inputs, each with a parameter of its own.
    int32_t affine() {
        std::vector<Term> terms;
        for (int32_t k = 0; k <= n_inputs; ++k)
            terms.push_back({k, parameter(), 1.0});
        return linear(terms);
    }
    TapeView view() const {
        // clang-format off
        return {n_inputs, int32_t(nodes.size()), int32_t(edges.size()), int32_t(lower.size()), int32_t(aux.size()),
                output, nodes.data(), edges.data(), coefficients.data(), aux.data(), partner.data(), lower.data(),
                upper.data()};
        // clang-format on
    }
    int32_t n_params() const { return int32_t(lower.size()); }
};

Tape one_operator(int32_t code, bool with_imaginary) {
    Tape tape(1);
    int32_t args[3] = {-1, -1, -1};
    for (int32_t k = 0; k < op_shapes[code].arguments; ++k)
        if (k != op_shapes[code].imaginary || with_imaginary)
            args[k] = tape.affine();
    tape.output = tape.op(code, args[0], args[1], args[2]);
    return tape;
}

// Every operator once, chained through sums, with complex arguments, a penalty and paired parameters.
Tape everything() {
    Tape tape(2);
    std::vector<Term> readout;
    int32_t last = 0;
    for (int32_t code = MUL; code < N_OPS; ++code) {
        int32_t args[3] = {-1, -1, -1};
        for (int32_t k = 0; k < op_shapes[code].arguments; ++k)
            args[k] = tape.linear({{0, tape.parameter(), 1.0},
                                   {1, tape.parameter(), 0.5},
                                   {tape.one(), tape.parameter(), 1.0},
                                   {last, tape.parameter(), 0.1}});
        if (op_shapes[code].imaginary == 1 && op_shapes[code].arguments == 2)
            for (int32_t k = 0; k < 4; ++k)
                tape.partner[tape.n_params() - 8 + k] = tape.n_params() - 4 + k;
        last = tape.op(code, args[0], args[1], args[2]);
        readout.push_back({last, tape.parameter(), 1.0});
        if (code == LOG || code == SQRT)
            tape.aux.push_back(tape.op(ANGLE, args[0], args[1]));
    }
    tape.output = tape.linear(readout);
    tape.aux.push_back(tape.output);
    return tape;
}

// ---- running one start

std::vector<double> uniform(size_t n, double low, double high, unsigned seed) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> random(low, high);
    std::vector<double> values(n);
    for (double &value : values)
        value = random(engine);
    return values;
}

template <class T> struct Case {
    const Tape &tape;
    int64_t n;
    std::vector<double> x, y, weight, params, ridge;
    std::vector<uint8_t> mask;
    double lasso = 0, aux = 0;
    std::unique_ptr<Columns<T>> columns;
    Arena arena;

    Case(const Tape &given, int64_t samples, unsigned seed)
        : tape(given), n(samples), x(uniform(size_t(samples) * given.n_inputs, 0.2, 1.2, seed)),
          y(uniform(samples, -1, 1, seed + 1)), weight(uniform(samples, 0.1, 2, seed + 2)),
          params(uniform(given.n_params(), 0.2, 0.9, seed + 3)),
          ridge(uniform(given.n_params(), 0, 0.1, seed + 4)), mask(given.n_params(), 1) {
        reload();
    }
    void reload() {
        columns = std::make_unique<Columns<T>>(x.data(), y.data(), weight.data(), n, tape.n_inputs);
    }
    Penalties penalties() const { return {ridge.data(), lasso, aux}; }
    Start start(double *at) const {
        return {mask.data(), at, nullptr, nullptr, infinity, infinity, 0, STOPPED};
    }

    // Calls f(kernel, tape, data, start, arena) at a point and gives the start back.
    template <class F> Start at(std::vector<double> point, F f) {
        Start begin = start(point.data());
        arena.reset();
        f(kernel<T>(), tape.view(), columns->view(), begin);
        return begin;
    }
    std::vector<double> values(const std::vector<double> &point) {
        std::vector<double> out(n);
        at(point, [&](auto &k, const auto &t, auto &d, Start &s) { k.values(t, d, s, out.data(), arena); });
        return out;
    }
    double objective(const std::vector<double> &point) {
        const auto f = [&](auto &k, const auto &t, auto &d, Start &s) {
            k.objective(t, d, penalties(), s, arena);
        };
        return at(point, f).objective;
    }
    std::vector<double> gradient(const std::vector<double> &point) {
        std::vector<double> out(params.size(), 0.0);
        at(point, [&](auto &k, const auto &t, auto &d, Start &s) {
            k.gradient(t, d, penalties(), s, out.data(), arena);
        });
        return out;
    }
    std::vector<double> jacobian(const std::vector<double> &point, std::vector<double> &values) {
        std::vector<double> out(size_t(n) * params.size(), 0.0);
        values.assign(n, 0.0);
        at(point, [&](auto &k, const auto &t, auto &d, Start &s) {
            k.jacobian(t, d, s, values.data(), out.data(), arena);
        });
        return out;
    }
    std::vector<double> nudged(size_t k, double step) const {
        std::vector<double> point = params;
        point[k] += step;
        return point;
    }
};

template <class T> constexpr bool is_single = sizeof(T) == 4;

bool near(double a, double b, double tolerance, double scale) {
    return std::fabs(a - b) <= tolerance * (std::fabs(a) + std::fabs(b) + scale);
}

double largest(const std::vector<double> &values) {
    double result = 0;
    for (double value : values)
        result = std::fmax(result, std::fabs(value));
    return result;
}

// ---- checks

template <class T> constexpr double difference = is_single<T> ? 2e-3 : 1e-6;
template <class T> constexpr double tolerance = is_single<T> ? 2e-2 : 1e-6;

template <class T> void check_gradient(Case<T> &c, const std::string &what) {
    const double h = difference<T>;
    const std::vector<double> gradient = c.gradient(c.params);
    const double scale = largest(gradient) + 1e-3;
    for (size_t k = 0; k < c.params.size(); ++k) {
        const double slope = (c.objective(c.nudged(k, h)) - c.objective(c.nudged(k, -h))) / (2 * h);
        check(near(gradient[k], c.mask[k] ? slope : 0.0, tolerance<T>, scale), what + std::to_string(k));
    }
}

template <class T> void check_jacobian(Case<T> &c, const std::string &what) {
    const double h = difference<T>;
    std::vector<double> at_point;
    const std::vector<double> jacobian = c.jacobian(c.params, at_point);
    check(c.values(c.params) == at_point, what + ", values agree");
    const double scale = largest(jacobian) + 1e-3;
    for (size_t k = 0; k < c.params.size(); ++k) {
        const std::vector<double> above = c.values(c.nudged(k, h)), below = c.values(c.nudged(k, -h));
        bool good = true;
        for (int64_t i = 0; i < c.n; ++i) {
            const double slope = (above[i] - below[i]) / (2 * h);
            good = good && near(jacobian[size_t(i) * c.params.size() + k], slope, tolerance<T>, scale);
        }
        check(good, what + ", parameter " + std::to_string(k));
    }
}

template <class T> void operators_one_by_one() {
    for (int32_t code = MUL; code < N_OPS; ++code)
        for (int with_imaginary = 0; with_imaginary < 2; ++with_imaginary) {
            if (with_imaginary && op_shapes[code].imaginary < 0)
                continue;
            const std::string name = std::string("operator ") + op_names[code];
            const Tape tape = one_operator(code, with_imaginary);
            check(complaint_about(tape.view()).empty(), "sound tape of " + name);
            Case<T> c(tape, 21, 7);
            check_jacobian<T>(c, "Jacobian of " + name);
            check_gradient<T>(c, "gradient of " + name + ", parameter ");
        }
}

template <class T> void sample_counts_and_masks() {
    const Tape tape = everything();
    check(complaint_about(tape.view()).empty(), "sound tape of everything");
    for (int64_t n : {1, 2, 31, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000}) {
        Case<T> c(tape, n, unsigned(n));
        c.lasso = 0.02;
        c.aux = 0.05;
        const std::string where = std::to_string(n) + " samples";
        check(std::isfinite(largest(c.values(c.params))), where + ", finite");
        if (n > 300)
            continue;
        check_gradient<T>(c, where + ", gradient of parameter ");
        if (n != 65)
            continue;
        for (unsigned seed = 0; seed < 4; ++seed) {
            const std::vector<double> ticket = uniform(c.mask.size(), 0, 1, seed);
            for (size_t k = 0; k < ticket.size(); ++k)
                c.mask[k] = ticket[k] < 0.3 + 0.2 * seed;
            check_gradient<T>(c, where + ", masked gradient of parameter ");
        }
        c.mask.assign(c.mask.size(), 0);
        check(largest(c.values(c.params)) == 0.0, where + ", nothing active");
        check(largest(c.gradient(c.params)) == 0.0, where + ", no slope without parameters");
    }
}

// ---- optimisers in threads

// p x / (1 + q x^2) + r: three numbers to find.
Tape rational(double upper = infinity) {
    Tape tape(1);
    const int32_t p = tape.parameter(), q = tape.parameter(0.0, upper), r = tape.parameter();
    const int32_t square = tape.op(SQUARE, 0);
    const int32_t below = tape.linear({{tape.one(), -1, 1.0}, {square, q, 1.0}});
    const int32_t quotient = tape.op(DIV, 0, below);
    tape.output = tape.linear({{quotient, p, 1.0}, {tape.one(), r, 1.0}});
    return tape;
}

struct Batch {
    std::vector<double> params, moments, state;
    std::vector<Start> starts;
    Batch(const Tape &tape, const uint8_t *mask, int64_t count, unsigned seed)
        : params(uniform(size_t(count) * tape.n_params(), 0.1, 1.5, seed)),
          moments(size_t(count) * 2 * tape.n_params(), 0.0), state(size_t(count) * 4, 0.0), starts(count) {
        for (int64_t k = 0; k < count; ++k)
            starts[k] = {mask,
                         params.data() + k * tape.n_params(),
                         moments.data() + k * 2 * tape.n_params(),
                         state.data() + k * 4,
                         infinity,
                         infinity,
                         0,
                         STOPPED};
    }
};

template <class T> void pose_rational(Case<T> &c) {
    const std::vector<double> truth = {2.0, 0.7, -0.5};
    for (int64_t i = 0; i < c.n; ++i) {
        c.x[i] = -2.0 + 4.0 * double(i) / double(c.n - 1);
        c.y[i] = truth[0] * c.x[i] / (1 + truth[1] * c.x[i] * c.x[i]) + truth[2];
        c.weight[i] = 1.0;
    }
    c.ridge.assign(3, 0.0);
    c.reload();
}

bool never() { return false; }

template <class T> std::vector<double> run_adam(const Case<T> &c, int64_t steps, int threads, int64_t count) {
    Batch batch(c.tape, c.mask.data(), count, 5);
    const AdamOptions options = {steps, 2e-2, 0.9, 0.999, 1e-8, 20, 0.5, 1e-4, 1e-4, false};
    std::atomic<int32_t> stop{0};
    const auto work = [&](int64_t k, Arena &arena) {
        kernel<T>().adam(c.tape.view(), c.columns->view(), c.penalties(), options, batch.starts[k], stop,
                         arena);
    };
    share_work(count, threads, stop, work, never);
    for (const Start &start : batch.starts)
        check(start.status == RAN_OUT && start.iterations == steps, "Adam ran to its end");
    return batch.params;
}

template <class T> void run_levenberg(const Case<T> &c, int64_t iterations, int threads, Batch &batch) {
    const LevenbergOptions options = {iterations, 1e-3, 0.0, 1e-7};
    std::atomic<int32_t> stop{0};
    const auto work = [&](int64_t k, Arena &arena) {
        kernel<T>().levenberg(c.tape.view(), c.columns->view(), c.penalties(), options, batch.starts[k], stop,
                              arena);
    };
    share_work(int64_t(batch.starts.size()), threads, stop, work, never);
}

template <class T> void optimisers_in_threads() {
    const Tape tape = rational();
    Case<T> c(tape, 129, 1);
    pose_rational<T>(c);
    check(run_adam<T>(c, 60, 1, 9) == run_adam<T>(c, 60, 4, 9), "Adam, threads agree");
    Batch first(tape, c.mask.data(), 9, 5), second(tape, c.mask.data(), 9, 5);
    run_levenberg<T>(c, 200, 1, first);
    run_levenberg<T>(c, 200, 3, second);
    check(first.params == second.params, "Levenberg-Marquardt, threads agree");
    const double close = is_single<T> ? 1e-3 : 1e-8;
    for (int k = 0; k < 9; ++k) {
        check(second.starts[k].misfit < (is_single<T> ? 1e-9 : 1e-22),
              "Levenberg-Marquardt finds the minimum");
        check(near(second.params[3 * k], 2.0, close, 0) && near(second.params[3 * k + 1], 0.7, close, 0),
              "Levenberg-Marquardt finds the parameters");
    }
}

template <class T> void bounds() {
    const Tape tape = rational(0.3);
    Case<T> c(tape, 129, 1);
    pose_rational<T>(c);
    Batch batch(tape, c.mask.data(), 5, 5);
    run_levenberg<T>(c, 200, 2, batch);
    const std::vector<double> params = run_adam<T>(c, 300, 2, 5);
    for (int k = 0; k < 5; ++k) {
        check(batch.params[3 * k + 1] == 0.3, "Levenberg-Marquardt ends at the bound");
        check(params[3 * k + 1] >= 0.0 && params[3 * k + 1] <= 0.3, "Adam keeps to the bounds");
    }
}

// Enough parameters and samples for many blocks, many tiles and several chunks of memory.
template <class T> void large_problem() {
    Tape tape(4);
    std::vector<Term> readout;
    for (int k = 0; k < 40; ++k)
        readout.push_back({tape.op(TANH, tape.affine()), tape.parameter(), 1.0});
    tape.output = tape.linear(readout);
    Case<T> c(tape, 2049, 2);
    Batch batch(tape, c.mask.data(), 2, 9);
    c.params.assign(batch.params.begin(), batch.params.begin() + tape.n_params());
    const double before = c.objective(c.params);
    run_levenberg<T>(c, 4, 2, batch);
    check(batch.starts[0].objective < before, "a large problem descends");
}

// ---- what does not depend on precision

void malformed_tapes() {
    const auto spoilt = [](const std::string &expected, void (*spoil)(Tape &)) {
        Tape tape = rational();
        check(complaint_about(tape.view()).empty(), "the tape is sound before it is spoilt");
        spoil(tape);
        const std::string complaint = complaint_about(tape.view());
        check(complaint.find(expected) != std::string::npos, "'" + expected + "', got '" + complaint + "'");
    };
    spoilt("no known operator", [](Tape &t) { t.nodes[0].op = N_OPS; });
    spoilt("no known operator", [](Tape &t) { t.nodes[0].op = -1; });
    spoilt("not before it", [](Tape &t) { t.nodes[0].a = 2; });
    spoilt("not before it", [](Tape &t) { t.nodes[2].b = -1; });
    spoilt("not before it", [](Tape &t) { t.nodes[2].c = -2; });
    spoilt("argument too many", [](Tape &t) { t.nodes[0].b = 0; });
    spoilt("edges that do not exist", [](Tape &t) { t.nodes[1].b = 99; });
    spoilt("edges that do not exist", [](Tape &t) { t.nodes[1].a = -1; });
    spoilt("edges that do not exist", [](Tape &t) { t.nodes[1].a = t.nodes[1].b = 0x7fffffff; });
    spoilt("not before it", [](Tape &t) { t.edges[0].source = 3; });
    spoilt("not before it", [](Tape &t) { t.edges[0].source = -1; });
    spoilt("parameter that does not exist", [](Tape &t) { t.edges[1].parameter = 3; });
    spoilt("parameter that does not exist", [](Tape &t) { t.edges[1].parameter = -2; });
    spoilt("output slot", [](Tape &t) { t.output = 6; });
    spoilt("output slot", [](Tape &t) { t.output = -1; });
    spoilt("is not a node", [](Tape &t) { t.aux = {1}; });
    spoilt("is not a node", [](Tape &t) { t.aux = {6}; });
    spoilt("at most 63", [](Tape &t) { t.aux.assign(64, 2); });
    spoilt("impossible partner", [](Tape &t) { t.partner[1] = 1; });
    spoilt("impossible partner", [](Tape &t) { t.partner[1] = 3; });
    spoilt("must not be negative", [](Tape &t) { t.n_inputs = -1; });
}

void threads_and_stopping() {
    std::vector<int> done(1000, 0);
    std::atomic<int32_t> stop{0};
    share_work(1000, 4, stop, [&](int64_t k, Arena &arena) { done[k] += arena.take(100) != nullptr; }, never);
    bool once = true;
    for (int count : done)
        once = once && count == 1;
    check(once, "every index is worked on once");
    share_work(0, 4, stop, [&](int64_t, Arena &) { done[0] = -1; }, never);
    check(done[0] == 1, "nothing to do is done");

    stop = 1;
    share_work(10, 2, stop, [&](int64_t k, Arena &) { done[k] = -1; }, never);
    check(done[0] == 1, "a set flag lets nothing begin");

    stop = 0;
    bool thrown = false;
    try {
        share_work(9, 3, stop, [](int64_t, Arena &) { throw std::runtime_error("on purpose"); }, never);
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    check(thrown, "an exception in a thread comes out of the call");

    // An endless fit, ended by the idle callback.
    const Tape tape = rational();
    Case<double> c(tape, 129, 1);
    pose_rational<double>(c);
    Batch batch(tape, c.mask.data(), 4, 5);
    const AdamOptions options = {int64_t(1) << 60, 1e-9, 0.9, 0.999, 1e-8, 0, 0.5, 0, 0, false};
    stop = 0;
    const auto work = [&](int64_t k, Arena &arena) {
        kernel<double>().adam(tape.view(), c.columns->view(), c.penalties(), options, batch.starts[k], stop,
                              arena);
    };
    share_work(4, 2, stop, work, [] { return true; });
    check(batch.starts[0].status == STOPPED && batch.starts[0].iterations > 0, "a long run is stopped");
    check(batch.starts[3].status == STOPPED && batch.starts[3].iterations == 0, "and the rest is not begun");
}

void memory() {
    Arena arena;
    for (int round = 0; round < 3; ++round) {
        for (size_t bytes :
             {size_t(1), size_t(63), size_t(64), size_t(1) << 18, size_t(3) << 18, size_t(100)}) {
            char *piece = static_cast<char *>(arena.take(bytes));
            std::memset(piece, round, bytes);
            check(reinterpret_cast<uintptr_t>(piece) % 64 == 0, "memory is aligned");
        }
        arena.reset();
    }
}

template <class T> void run_all(const std::string &set) {
    context = set + (is_single<T> ? ", float" : ", double");
    operators_one_by_one<T>();
    sample_counts_and_masks<T>();
    optimisers_in_threads<T>();
    bounds<T>();
    large_problem<T>();
}

} // namespace

int main() {
    malformed_tapes();
    threads_and_stopping();
    memory();
    for (const std::string &set : instruction_sets()) {
        use_instruction_set(set);
        check(instruction_set() == set, "the chosen instruction set is in use");
        run_all<double>(set);
        run_all<float>(set);
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
}
