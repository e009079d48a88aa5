#include "batch.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>

// Calls cpuid directly: __builtin_cpu_supports needs a run-time symbol that zig does not ship.
struct CpuFeatures {
    bool avx2 = false, avx512 = false;

    CpuFeatures() {
        unsigned a, b, c, d;
        if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) // the system must support xgetbv
            return;
        const bool fma = c >> 12 & 1;
        unsigned low, high;
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
            return;
        const auto all = [](unsigned word, unsigned bits) { return (word & bits) == bits; };
        avx2 = fma && all(low, 0x06) && all(b, 1u << 5);                                      // ymm saved
        avx512 = avx2 && all(low, 0xe6) && all(b, 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31); // f dq bw vl
    }
};
#endif

namespace ceql {

#define CEQL_DECLARE(isa)                                                                                    \
    namespace isa {                                                                                          \
    Kernel<double> kernel_double();                                                                          \
    Kernel<float> kernel_float();                                                                            \
    }
CEQL_DECLARE(baseline)
#ifdef CEQL_HAVE_AVX2
CEQL_DECLARE(avx2)
#endif
#ifdef CEQL_HAVE_AVX512
CEQL_DECLARE(avx512)
#endif
#undef CEQL_DECLARE

// ---- memory
// ----------------------------------------------------------------------------------------------------

constexpr size_t alignment = 64;

struct Arena::Chunk {
    Chunk *next;
    size_t size, used;
    char *memory;
};

Arena::Arena() : first_(nullptr), current_(nullptr) {}

Arena::~Arena() {
    for (Chunk *chunk = first_; chunk;) {
        Chunk *next = chunk->next;
        ::operator delete(chunk->memory, std::align_val_t(alignment));
        delete chunk;
        chunk = next;
    }
}

void Arena::reset() {
    current_ = first_;
    if (current_)
        current_->used = 0;
}

void *Arena::take(size_t bytes) {
    bytes = (bytes + alignment - 1) / alignment * alignment;
    while (!current_ || current_->used + bytes > current_->size) {
        if (current_ && current_->next) {
            current_ = current_->next;
            current_->used = 0;
            continue;
        }
        const size_t size = bytes > (size_t(1) << 18) ? bytes : (size_t(1) << 18);
        char *memory = static_cast<char *>(::operator new(size, std::align_val_t(alignment)));
        Chunk *chunk = new Chunk{nullptr, size, 0, memory};
        (current_ ? current_->next : first_) = chunk;
        current_ = chunk;
    }
    char *result = current_->memory + current_->used;
    current_->used += bytes;
    return result;
}

template <class T>
Columns<T>::Columns(const double *x, const double *y, const double *weight, int64_t n, int32_t n_inputs,
                    const double *mixing, int64_t kept) {
    // A whole number of unrolled lanes of the widest instruction set.
    const int64_t step = 8 * 64 / int64_t(sizeof(T)), padded = (n + step - 1) / step * step;
    const int64_t mixed_step = step / 2, mixed = (kept + mixed_step - 1) / mixed_step * mixed_step;
    memory_ = static_cast<T *>(
        ::operator new(size_t(padded) * (n_inputs + 3 + mixed) * sizeof(T), std::align_val_t(alignment)));
    T *columns = memory_, *ones = memory_ + size_t(n_inputs) * padded, *targets = ones + padded,
      *weights = targets + padded;
    for (int64_t i = 0; i < padded; ++i) {
        const int64_t source = i < n ? i : 0;
        for (int32_t k = 0; k < n_inputs; ++k)
            columns[size_t(k) * padded + i] = T(x[source * n_inputs + k]);
        ones[i] = T(1);
        targets[i] = T(y[source]);
        weights[i] = i < n ? T((weight ? weight[i] : 1.0) / double(n)) : T(0);
    }
    T *by_sample = weights + padded;
    for (int64_t i = 0; i < padded; ++i)
        for (int64_t r = 0; r < mixed; ++r)
            by_sample[i * mixed + r] = i < n && r < kept ? T(mixing[r * n + i]) : T(0);
    view_ = {{n, padded, columns, targets, weights}, {kept, mixed, by_sample}};
}

template <class T> Columns<T>::~Columns() { ::operator delete(memory_, std::align_val_t(alignment)); }

template class Columns<double>;
template class Columns<float>;

// ---- instruction sets
// ------------------------------------------------------------------------------------------

struct InstructionSet {
    std::string name;
    Kernel<double> in_double;
    Kernel<float> in_float;
};

static const std::vector<InstructionSet> &available() {
    static const std::vector<InstructionSet> sets = [] {
        std::vector<InstructionSet> found = {
            {"baseline", baseline::kernel_double(), baseline::kernel_float()}};
#ifdef CEQL_HAVE_AVX2
        if (CpuFeatures().avx2)
            found.push_back({"avx2", avx2::kernel_double(), avx2::kernel_float()});
#endif
#ifdef CEQL_HAVE_AVX512
        if (CpuFeatures().avx512)
            found.push_back({"avx512", avx512::kernel_double(), avx512::kernel_float()});
#endif
        return found;
    }();
    return sets;
}

static std::atomic<size_t> &chosen() {
    static std::atomic<size_t> index{available().size() - 1};
    return index;
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const InstructionSet &set : available())
        names.push_back(set.name);
    return names;
}

void use_instruction_set(const std::string &name) {
    for (size_t k = 0; k < available().size(); ++k)
        if (available()[k].name == name) {
            chosen() = k;
            return;
        }
    throw std::invalid_argument("this machine has no instruction set '" + name + "'");
}

std::string instruction_set() { return available()[chosen()].name; }
template <> const Kernel<double> &kernel() { return available()[chosen()].in_double; }
template <> const Kernel<float> &kernel() { return available()[chosen()].in_float; }

// ---- soundness
// -------------------------------------------------------------------------------------------------

static std::string complaint_about_node(const TapeView &tape, int32_t index) {
    const Node &node = tape.nodes[index];
    const std::string where = "node " + std::to_string(index);
    const int32_t own_slot = tape.n_inputs + 1 + index;
    if (node.op < 0 || node.op >= N_OPS)
        return where + " has no known operator: " + std::to_string(node.op);
    if (node.op == LINEAR) {
        if (node.a < 0 || node.b < 0 || int64_t(node.a) + node.b > tape.n_edges)
            return where + " names edges that do not exist";
        for (int32_t e = node.a; e < node.a + node.b; ++e)
            if (tape.edges[e].source < 0 || tape.edges[e].source >= own_slot)
                return where + " reads slot " + std::to_string(tape.edges[e].source) +
                       ", which is not before it";
        return "";
    }
    const int32_t args[3] = {node.a, node.b, node.c};
    for (int k = 0; k < 3; ++k) {
        const bool wanted = k < op_shapes[node.op].arguments;
        if (!wanted && args[k] != -1)
            return where + " has an argument too many";
        if (wanted && args[k] == -1 && k == op_shapes[node.op].imaginary)
            continue;
        if (wanted && (args[k] < 0 || args[k] >= own_slot))
            return where + " reads slot " + std::to_string(args[k]) + ", which is not before it";
    }
    return "";
}

std::string complaint_about(const TapeView &tape) {
    const int32_t n_slots = tape.n_inputs + 1 + tape.n_nodes;
    if (tape.n_inputs < 0 || tape.n_nodes < 0 || tape.n_params < 0)
        return "sizes must not be negative";
    if (tape.output < 0 || tape.output >= n_slots)
        return "the output slot does not exist";
    if (tape.n_aux > 63)
        return "a tape has at most 63 auxiliary slots";
    for (int32_t k = 0; k < tape.n_aux; ++k)
        if (tape.aux[k] <= tape.n_inputs || tape.aux[k] >= n_slots)
            return "auxiliary slot " + std::to_string(k) + " is not a node";
    for (int32_t e = 0; e < tape.n_edges; ++e)
        if (tape.edges[e].parameter < -1 || tape.edges[e].parameter >= tape.n_params)
            return "edge " + std::to_string(e) + " names a parameter that does not exist";
    for (int32_t k = 0; tape.partner && k < tape.n_params; ++k)
        if (tape.partner[k] < -1 || tape.partner[k] >= tape.n_params || tape.partner[k] == k)
            return "parameter " + std::to_string(k) + " has an impossible partner";
    int64_t terms = 0;
    for (int32_t k = 0; k < tape.n_nodes; ++k) {
        const std::string complaint = complaint_about_node(tape, k);
        if (!complaint.empty())
            return complaint;
        terms += tape.nodes[k].op == LINEAR ? tape.nodes[k].b : 0;
    }
    // A compact program has room for each edge only once.
    if (terms > tape.n_edges)
        return "sums share edges: each edge belongs to one sum";
    return "";
}

// ---- threads
// ---------------------------------------------------------------------------------------------------

// Treats denormal numbers as zero: they do not matter to a fit and are a hundred times slower than others.
// Only set on our own threads.
static void flush_denormals() {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | (uint64_t(1) << 24)));
#endif
}

void share_work(int64_t count, int threads, std::atomic<int32_t> &stop,
                const std::function<void(int64_t, Arena &)> &work, const std::function<bool()> &idle) {
    std::atomic<int64_t> next{0};
    std::atomic<int> busy{0};
    std::exception_ptr failure;
    std::mutex mutex;
    std::condition_variable finished;
    const auto labour = [&] {
        try {
            Arena arena;
            for (int64_t k = next++; k < count && !stop; k = next++) {
                arena.reset();
                work(k, arena);
            }
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex);
            failure = std::current_exception();
            stop = 1;
        }
        const std::lock_guard<std::mutex> lock(mutex);
        --busy;
        finished.notify_all();
    };
    const int64_t crew = threads < 1 ? 1 : (threads < count ? threads : (count < 1 ? 1 : count));
    std::vector<std::thread> workers;
    busy = int(crew);
    for (int64_t k = 0; k < crew; ++k) {
        try {
            workers.emplace_back([&labour] {
                flush_denormals();
                labour();
            });
        } catch (const std::system_error &) {
            // The system refuses to start more threads: those that did start do the work.
            const std::lock_guard<std::mutex> lock(mutex);
            busy -= int(crew - k);
            break;
        }
    }
    if (workers.empty()) {
        busy = 1;
        labour();
    } else {
        std::unique_lock<std::mutex> lock(mutex);
        while (!finished.wait_for(lock, std::chrono::milliseconds(30), [&] { return busy == 0; })) {
            lock.unlock();
            if (idle())
                stop = 1;
            lock.lock();
        }
    }
    for (std::thread &worker : workers)
        worker.join();
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace ceql
