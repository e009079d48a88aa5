// The GPU's kernels on a processor, for test_gpu_on_host.py: a warp of 32 fibers that take turns. Between two
// meetings of the warp the threads run one after the other, forwards or backwards, so a missing barrier shows
// as a difference between the two.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>

namespace host {

constexpr int lanes = 32;
constexpr size_t stack_size = 1 << 18;
struct Lane {
    ucontext_t context;
    std::vector<char> stack;
    uint64_t given[2]; // to the meeting before and to this one
    long meetings;
    bool done;
};
Lane warp_lanes[lanes];
ucontext_t outside;
int current, direction = 1;
void (*work)(const void *);
const void *work_argument;

int next_lane(int from) { return (from + direction + lanes) % lanes; }

void enter() {
    work(work_argument);
    Lane &own = warp_lanes[current];
    own.done = true;
    const int next = next_lane(current);
    if (warp_lanes[next].done) // the last
        setcontext(&outside);
    current = next;
    setcontext(&warp_lanes[next].context);
}

// Every lane brings a word; when it goes on, all have brought theirs.
const uint64_t *meet(uint64_t word, uint64_t *all) {
    Lane &own = warp_lanes[current];
    const int which = own.meetings++ & 1, self = current;
    own.given[which] = word;
    current = next_lane(self);
    swapcontext(&own.context, &warp_lanes[current].context);
    current = self;
    for (int k = 0; k < lanes; ++k) {
        const Lane &other = warp_lanes[k];
        if ((other.meetings != own.meetings && other.meetings != own.meetings + 1)) {
            std::fprintf(stderr, "lanes %d and %d part: %ld and %ld meetings\n", self, k, own.meetings,
                         other.meetings);
            std::abort();
        }
        all[k] = other.given[which];
    }
    return all;
}

void run(void (*function)(const void *), const void *argument) {
    work = function;
    work_argument = argument;
    for (Lane &lane : warp_lanes) {
        lane.stack.resize(stack_size);
        getcontext(&lane.context);
        lane.context.uc_stack.ss_sp = lane.stack.data();
        lane.context.uc_stack.ss_size = stack_size;
        lane.context.uc_link = nullptr;
        makecontext(&lane.context, enter, 0);
        lane.meetings = 0;
        lane.done = false;
    }
    current = direction > 0 ? 0 : lanes - 1;
    swapcontext(&outside, &warp_lanes[current].context);
}

template <class V> V shuffled(V x, int from) {
    uint64_t all[lanes], word = 0;
    std::memcpy(&word, &x, sizeof x);
    meet(word, all);
    std::memcpy(&x, &all[from], sizeof x);
    return x;
}

struct X {
    operator int() const { return current; }
};
struct Index {
    X x;
};
struct Constant {
    int x;
};

} // namespace host

#define __CUDACC_RTC__
#define __align__(n) __attribute__((aligned(n)))
#define __shared__
#define __global__
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
struct double2 {
    double x, y;
};
static host::Index threadIdx;
static const host::Constant blockIdx = {0}, gridDim = {1};
template <class V> V __shfl_sync(unsigned, V x, int from) { return host::shuffled(x, from); }
template <class V> V __shfl_xor_sync(unsigned, V x, int mask) {
    return host::shuffled(x, host::current ^ mask);
}
inline unsigned __ballot_sync(unsigned, bool x) {
    uint64_t all[host::lanes];
    host::meet(x, all);
    unsigned found = 0;
    for (int k = 0; k < host::lanes; ++k)
        found |= unsigned(all[k]) << k;
    return found;
}
inline bool __any_sync(unsigned, bool x) { return __ballot_sync(0, x) != 0; }
inline bool __all_sync(unsigned, bool x) { return __ballot_sync(0, x) == ~0u; }
inline void __syncwarp() { __ballot_sync(0, false); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffsll(uint64_t x) { return __builtin_ffsll(int64_t(x)); }
inline int atomicAdd(int *place, int x) { return (*place += x) - x; }
template <class To, class From> To same(From x) {
    To to;
    std::memcpy(&to, &x, sizeof to);
    return to;
}
inline int64_t __double_as_longlong(double x) { return same<int64_t>(x); }
inline double __longlong_as_double(int64_t x) { return same<double>(x); }
inline int32_t __float_as_int(float x) { return same<int32_t>(x); }
inline float __int_as_float(int32_t x) { return same<float>(x); }
using std::fabs;
using std::pow;
using std::sqrt;
#include "kernels.inc"

namespace ceql::CEQL_ISA {
char shared_memory[1 << 18];
}

extern "C" void run_plan(const void *problem, int direction) {
    host::direction = direction;
    host::run([](const void *p) { plan(static_cast<const Problem<Number> *>(p)); }, problem);
}
extern "C" void run_fit(const void *problem, int direction) {
    host::direction = direction;
    std::memset(ceql::CEQL_ISA::shared_memory, 0xff, sizeof ceql::CEQL_ISA::shared_memory);
    host::run([](const void *p) { fit(static_cast<const Problem<Number> *>(p)); }, problem);
}
