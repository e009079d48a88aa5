// Many starts at once: chooses the instruction set, checks tapes and sizes, and shares the work among
// threads.
#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "types.hpp"

namespace ceql {

// Returns an error message, or an empty string for a valid tape.
std::string complaint_about(const TapeView &tape);

// Names of the instruction sets this machine can run, the best one last.
std::vector<std::string> instruction_sets();
// Throws std::invalid_argument for any other name.
void use_instruction_set(const std::string &name);
std::string instruction_set();

template <class T> const Kernel<T> &kernel();

// A table of samples, copied column by column, padded and aligned for the kernels. `mixing` is a matrix with
// n columns, which maps samples to its rows.
template <class T> class Columns {
public:
    Columns(const double *x, const double *y, const double *weight, int64_t n, int32_t n_inputs,
            const double *mixing = nullptr, int64_t kept = 0);
    ~Columns();
    Columns(const Columns &) = delete;
    Columns &operator=(const Columns &) = delete;
    const SampleView<T> &view() const { return view_; }

private:
    SampleView<T> view_;
    T *memory_;
};

// Calls work(index, arena) for 0 .. count-1 on `threads` threads. Calls `idle` on the calling thread about
// every 30 ms; when it returns true, or `stop` is set from elsewhere, no further index is begun.
void share_work(int64_t count, int threads, std::atomic<int32_t> &stop,
                const std::function<void(int64_t, Arena &)> &work, const std::function<bool()> &idle);

} // namespace ceql
