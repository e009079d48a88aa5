// The interface for proposals: checks wirings, priors and rules, and shares the starts among threads.
#include "sampling_bindings.hpp"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "arrays.hpp"
#include "batch.hpp"
#include "sampling.hpp"
#include "start_values.hpp"

namespace nb = nanobind;

namespace ceql {
namespace {

using Masks = nb::ndarray<nb::numpy, uint8_t, nb::ndim<2>>;
using Rows = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
using Writable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr int64_t block = 64; // starts that a thread takes at a time

// Calls work(row, arena) for every row, without the interpreter lock.
template <class W> void for_rows(int64_t count, int threads, const W &work) {
    const auto one_block = [&](int64_t b, Arena &arena) {
        for (int64_t k = b * block; k < std::min((b + 1) * block, count); ++k) {
            arena.reset();
            work(k, arena);
        }
    };
    const int64_t blocks = (count + block - 1) / block;
    nb::gil_scoped_release release;
    if (threads > 1 && blocks > 1) {
        std::atomic<int32_t> stop{0};
        share_work(blocks, threads, stop, one_block, [] { return false; });
        return;
    }
    Arena arena;
    for (int64_t b = 0; b < blocks; ++b)
        one_block(b, arena);
}

void normalise(const uint8_t *given, int32_t count, uint8_t *mask) {
    for (int32_t e = 0; e < count; ++e)
        mask[e] = given[e] != 0;
}

// ---- arguments from Python
// --------------------------------------------------------------------------------------

class Wiring {
public:
    Wiring(int32_t n_inputs, const Array<int32_t, 1> &source, const Array<int32_t, 2> &sums,
           const Array<int32_t, 1> &imaginary, const Array<int32_t, 1> &layer_of)
        : source_(copied<int32_t>(source)), imaginary_(copied<int32_t>(imaginary)),
          layer_of_(copied<int32_t>(layer_of)) {
        require(sums.shape(1) == 4,
                "sums must have four columns: target, first and last edge, whether constant");
        require(n_inputs > 0 && !layer_of_.empty() && n_inputs < (1 << 24) && source_.size() < (1u << 24) &&
                    sums.shape(0) < (1u << 24) && layer_of_.size() < (1u << 24),
                "a wiring needs inputs and units, and fewer than 16 million of everything");
        require(imaginary_.size() == source_.size(), "imaginary needs an entry per edge");
        sums_ = records<WeightedSum>(sums);
        const int32_t n_units = int32_t(layer_of_.size()), n_nodes = n_inputs + 1 + n_units;
        index_sums(n_inputs, n_nodes);
        index_edges(n_nodes);
        int32_t n_layers = 0, n_params = int32_t(source_.size());
        for (int32_t layer : layer_of_) {
            require(layer >= 0 && layer < n_units, "a unit has an impossible layer");
            n_layers = std::max(n_layers, layer + 1);
        }
        for (int32_t parameter : imaginary_)
            n_params += parameter >= 0;
        for (int32_t parameter : imaginary_)
            require(parameter == -1 || (parameter >= int32_t(source_.size()) && parameter < n_params),
                    "an edge names an imaginary part that does not exist");
        view_ = {n_inputs,          n_nodes,          int32_t(source_.size()),
                 n_params,          n_layers,         int32_t(sums_.size()),
                 sums_.data(),      source_.data(),   sum_of_.data(),
                 imaginary_.data(), layer_of_.data(), first_sum_.data(),
                 first_out_.data(), out_.data()};
    }
    Wiring(const Wiring &) = delete;
    const WiringView &view() const { return view_; }

private:
    void index_sums(int32_t n_inputs, int32_t n_nodes) {
        require(!sums_.empty() && sums_.back().target == n_nodes, "the last sum must be the readout");
        int32_t edge = 0, target = n_inputs + 1;
        for (size_t s = 0; s < sums_.size(); ++s) {
            const WeightedSum &sum = sums_[s];
            require(sum.first == edge && sum.last >= sum.first && sum.last <= int32_t(source_.size()),
                    "the edges of the sums must follow each other");
            require(sum.target >= target && (sum.target < n_nodes || s + 1 == sums_.size()),
                    "the sums must be in the order of their targets");
            target = sum.target;
            for (; edge < sum.last; ++edge) {
                require(source_[edge] >= 0 && source_[edge] < sum.target,
                        "a sum draws on something that is not before it");
                sum_of_.push_back(int32_t(s));
            }
        }
        require(edge == int32_t(source_.size()), "every edge must belong to a sum");
        int32_t first = 0;
        for (int32_t node = n_inputs + 1; node <= n_nodes; ++node) {
            while (sums_[first].target < node)
                ++first;
            first_sum_.push_back(first);
        }
    }
    void index_edges(int32_t n_nodes) {
        first_out_.assign(size_t(n_nodes) + 1, 0);
        for (int32_t node : source_)
            ++first_out_[size_t(node) + 1];
        for (int32_t node = 0; node < n_nodes; ++node)
            first_out_[size_t(node) + 1] += first_out_[node];
        std::vector<int32_t> next(first_out_.begin(), first_out_.end());
        out_.resize(source_.size());
        for (size_t e = 0; e < source_.size(); ++e)
            out_[size_t(next[source_[e]]++)] = int32_t(e);
    }

    std::vector<int32_t> source_, imaginary_, layer_of_;
    std::vector<WeightedSum> sums_;
    std::vector<int32_t> sum_of_, first_sum_, first_out_, out_;
    WiringView view_;
};

class Prior {
public:
    Prior(const Wiring &wiring, const Array<double, 1> &depths, const Array<double, 3> &units,
          const Array<double, 1> &weights, const Array<double, 1> &inputs_used, double all_inputs,
          double low_fan_in, double full_fan_in, double bare_readout, double low_density,
          const Array<double, 1> &density, double bare_density, const Array<double, 1> &readout_density,
          const Array<double, 1> &mutations, double more_mutations, double more_sources,
          int32_t maximum_edges, const Array<int64_t, 1> &operators, const Array<int64_t, 1> &banned,
          const Array<uint8_t, 2> &needed)
        : depths_(copied<double>(depths)), units_(copied<double>(units)), weights_(copied<double>(weights)),
          inputs_used_(copied<double>(inputs_used)), mutations_(copied<double>(mutations)),
          operators_(copied<int64_t>(operators)), banned_(copied<int64_t>(banned)),
          needed_(copied<uint8_t>(needed)) {
        const size_t layers = size_t(wiring.view().n_layers), n_units = size_t(wiring.view().n_units());
        const size_t inputs = size_t(wiring.view().n_inputs);
        require(depths_.size() == layers, "depths needs an entry per layer");
        require(units.shape(0) == layers && units.shape(1) == layers && units.shape(2) > 0,
                "units needs a table per layer and last layer");
        require(weights_.size() == n_units && operators_.size() == n_units && banned_.size() == n_units,
                "weights, operators and banned need an entry per unit");
        require(!inputs_used_.empty() && inputs_used_.size() <= inputs,
                "inputs_used has at most an entry per input");
        require(density.size() == 2 && readout_density.size() == 2, "a density is a pair");
        require(mutations_.size() == 4, "there are four mutations");
        require(needed.shape(1) == inputs, "needed has a column per input");
        view_ = {depths_.data(),
                 units_.data(),
                 int32_t(units.shape(2)),
                 weights_.data(),
                 inputs_used_.data(),
                 int32_t(inputs_used_.size()),
                 all_inputs,
                 low_fan_in,
                 full_fan_in,
                 bare_readout,
                 low_density,
                 {density.data()[0], density.data()[1]},
                 bare_density,
                 {readout_density.data()[0], readout_density.data()[1]},
                 mutations_.data(),
                 more_mutations,
                 more_sources,
                 maximum_edges,
                 operators_.data(),
                 banned_.data(),
                 needed_.data(),
                 int32_t(needed.shape(0))};
        n_units_ = n_units;
        n_inputs_ = inputs;
    }
    Prior(const Prior &) = delete;
    const PriorView &of(const WiringView &wiring) const {
        require(size_t(wiring.n_units()) == n_units_ && size_t(wiring.n_inputs) == n_inputs_ &&
                    size_t(wiring.n_layers) == depths_.size(),
                "the prior is of another wiring");
        return view_;
    }

private:
    std::vector<double> depths_, units_, weights_, inputs_used_, mutations_;
    std::vector<int64_t> operators_, banned_;
    std::vector<uint8_t> needed_;
    size_t n_units_, n_inputs_;
    PriorView view_;
};

class Rule {
public:
    Rule(double scale, double oscillating, double fastest, double in_rhythm, double rhythm_error,
         const Array<int32_t, 1> &source, const Array<int32_t, 1> &first, const Array<double, 1> &rhythms,
         double shrunk_real, double shrunk_imaginary, int32_t first_imaginary)
        : source_(copied<int32_t>(source)), first_(copied<int32_t>(first)),
          rhythms_(copied<double>(rhythms)) {
        require(!first_.empty() && first_.front() == 0 && first_.back() == int32_t(rhythms_.size()),
                "first says where the rhythms of each input begin, and where all end");
        for (size_t k = 1; k < first_.size(); ++k)
            require(first_[k - 1] <= first_[k], "the rhythms of the inputs must follow each other");
        require(fastest > 0, "the highest frequency must be positive");
        view_ = {scale,
                 oscillating,
                 std::log(fastest),
                 in_rhythm,
                 rhythm_error,
                 int32_t(source_.size()),
                 source_.data(),
                 int32_t(first_.size()) - 1,
                 first_.data(),
                 rhythms_.data(),
                 {shrunk_real, shrunk_imaginary},
                 first_imaginary};
    }
    Rule(const Rule &) = delete;
    const StartRule &view() const { return view_; }

private:
    std::vector<int32_t> source_, first_;
    std::vector<double> rhythms_;
    StartRule view_;
};

// ---- masks
// -----------------------------------------------------------------------------------------------------

// Calls work(given, out, row, arena) on a clean copy of every row of masks.
template <class W>
Masks mapped(const WiringView &wiring, const Array<uint8_t, 2> &edges, int32_t width, int threads,
             const W &work) {
    require(int32_t(edges.shape(1)) == wiring.n_edges, "masks need a column per edge");
    const int64_t count = int64_t(edges.shape(0));
    Masks out = unfilled_array<uint8_t>(count, width);
    uint8_t *to = out.data();
    for_rows(count, threads, [&](int64_t k, Arena &arena) {
        auto *given = static_cast<uint8_t *>(arena.take(size_t(wiring.n_edges)));
        normalise(edges.data() + k * wiring.n_edges, wiring.n_edges, given);
        work(given, to + k * width, k, arena);
    });
    return out;
}

Masks clean_masks(const Wiring &wiring, const Array<uint8_t, 2> &edges, int threads) {
    const WiringView &view = wiring.view();
    return mapped(view, edges, view.n_edges, threads,
                  [&](uint8_t *given, uint8_t *out, int64_t, Arena &arena) {
                      clean(view, given, arena);
                      std::copy_n(given, view.n_edges, out);
                  });
}

Masks smooth_masks(const Wiring &wiring, const Array<uint8_t, 2> &edges, int threads) {
    const WiringView &view = wiring.view();
    return mapped(
        view, edges, view.n_params, threads,
        [&](uint8_t *given, uint8_t *out, int64_t, Arena &arena) { smooth(view, given, out, arena); });
}

Masks permitted(const Wiring &wiring, const Prior &prior, const Array<uint8_t, 2> &edges, int threads) {
    const WiringView &view = wiring.view();
    const PriorView &rules = prior.of(view);
    return mapped(view, edges, 1, threads, [&](uint8_t *given, uint8_t *out, int64_t, Arena &arena) {
        *out = is_permitted(view, rules, given, arena);
    });
}

Masks draw_masks(const Wiring &wiring, const Prior &prior, uint64_t key, uint64_t first, int64_t count,
                 int threads) {
    require(count >= 0 && count < (1 << 24), "a number of draws is from 0 to 16 million");
    const WiringView &view = wiring.view();
    const PriorView &rules = prior.of(view);
    Masks out = unfilled_array<uint8_t>(count, view.n_edges);
    uint8_t *to = out.data();
    for_rows(count, threads, [&](int64_t k, Arena &arena) {
        draw(view, rules, Random(key, first + uint64_t(k)), to + k * view.n_edges, arena);
    });
    return out;
}

Masks breed_masks(const Wiring &wiring, const Prior &prior, const Array<uint8_t, 2> &parents, bool graft,
                  uint64_t key, uint64_t first, int threads) {
    const WiringView &view = wiring.view();
    const PriorView &rules = prior.of(view);
    const Change change = graft ? Change::GRAFT : Change::MUTATE;
    return mapped(view, parents, view.n_edges, threads,
                  [&](uint8_t *given, uint8_t *out, int64_t k, Arena &arena) {
                      breed(view, rules, change, Random(key, first + uint64_t(k)), given, out, arena);
                  });
}

// ---- start values
// ------------------------------------------------------------------------------------------------

Rows start_values(const Rule &rule, const Array<uint8_t, 2> &masks, uint64_t key, uint64_t first,
                  int threads) {
    const StartRule &view = rule.view();
    require(int32_t(masks.shape(1)) == view.n_params, "masks need a column per parameter");
    Rows out = unfilled_array<double>(masks.shape(0), view.n_params);
    double *to = out.data();
    for_rows(int64_t(masks.shape(0)), threads, [&](int64_t k, Arena &) {
        begin(view, Random(key, first + uint64_t(k)), masks.data() + k * view.n_params,
              to + k * view.n_params);
    });
    return out;
}

// Changes `params` in place: row k inherits from row parents[k] of `known`, or from none if that is -1.
void inherit_values(const Rule &rule, Writable params, const Array<uint8_t, 2> &masks,
                    const Array<double, 2> &known, const Array<int64_t, 1> &parents, int threads) {
    const StartRule &view = rule.view();
    const size_t p = size_t(view.n_params), count = params.shape(0);
    require(params.shape(1) == p && masks.shape(1) == p && known.shape(1) == p,
            "params, masks and known need a column per parameter");
    require(reinterpret_cast<uintptr_t>(params.data()) % alignof(double) == 0, "params must be aligned");
    require(masks.shape(0) == count && parents.size() == count, "params, masks and parents differ in length");
    for (size_t k = 0; k < count; ++k)
        require(parents.data()[k] >= -1 && parents.data()[k] < int64_t(known.shape(0)),
                "there is no such parent");
    double *to = params.data();
    for_rows(int64_t(count), threads, [&](int64_t k, Arena &) {
        const int64_t parent = parents.data()[k];
        if (parent >= 0)
            inherit(view, known.data() + size_t(parent) * p, masks.data() + size_t(k) * p,
                    to + size_t(k) * p);
    });
}

// Returns the live values of all rows of `params` in one array, and where each row begins and the last ends.
nb::tuple packed(const Array<uint8_t, 2> &masks, const Array<double, 2> &params, int threads) {
    const size_t count = masks.shape(0), width = masks.shape(1);
    require(params.shape(0) == count && params.shape(1) == width, "masks and params differ in shape");
    auto first = new_array<int64_t>(count + 1);
    int64_t *begin = first.data();
    for_rows(int64_t(count), threads, [&](int64_t k, Arena &) {
        const uint8_t *mask = masks.data() + size_t(k) * width;
        begin[k + 1] = std::count_if(mask, mask + width, [](uint8_t live) { return live != 0; });
    });
    std::partial_sum(begin, begin + count + 1, begin);
    auto values = unfilled_array<double>(size_t(begin[count]));
    double *to = values.data();
    for_rows(int64_t(count), threads, [&](int64_t k, Arena &) {
        const size_t row = size_t(k) * width;
        double *at = to + begin[k];
        for (size_t p = 0; p < width; ++p)
            if (masks.data()[row + p])
                *at++ = params.data()[row + p];
    });
    return nb::make_tuple(values, first);
}

} // namespace

void bind_sampling(nb::module_ &m) {
    nb::class_<Wiring>(m, "Wiring")
        .def(nb::init<int32_t, const Array<int32_t, 1> &, const Array<int32_t, 2> &,
                      const Array<int32_t, 1> &, const Array<int32_t, 1> &>(),
             nb::arg("n_inputs"), nb::arg("source"), nb::arg("sums"), nb::arg("imaginary"),
             nb::arg("layer_of"));
    nb::class_<Prior>(m, "Prior")
        .def(nb::init<const Wiring &, const Array<double, 1> &, const Array<double, 3> &,
                      const Array<double, 1> &, const Array<double, 1> &, double, double, double, double,
                      double, const Array<double, 1> &, double, const Array<double, 1> &,
                      const Array<double, 1> &, double, double, int32_t, const Array<int64_t, 1> &,
                      const Array<int64_t, 1> &, const Array<uint8_t, 2> &>(),
             nb::arg("wiring"), nb::arg("depths"), nb::arg("units"), nb::arg("weights"),
             nb::arg("inputs_used"), nb::arg("all_inputs"), nb::arg("low_fan_in"), nb::arg("full_fan_in"),
             nb::arg("bare_readout"), nb::arg("low_density"), nb::arg("density"), nb::arg("bare_density"),
             nb::arg("readout_density"), nb::arg("mutations"), nb::arg("more_mutations"),
             nb::arg("more_sources"), nb::arg("maximum_edges"), nb::arg("operators"), nb::arg("banned"),
             nb::arg("needed"));
    nb::class_<Rule>(m, "StartRule")
        .def(nb::init<double, double, double, double, double, const Array<int32_t, 1> &,
                      const Array<int32_t, 1> &, const Array<double, 1> &, double, double, int32_t>(),
             nb::arg("scale"), nb::arg("oscillating"), nb::arg("fastest"), nb::arg("in_rhythm"),
             nb::arg("rhythm_error"), nb::arg("source"), nb::arg("first"), nb::arg("rhythms"),
             nb::arg("shrunk_real"), nb::arg("shrunk_imaginary"), nb::arg("first_imaginary"));
    m.def("clean", &clean_masks, nb::arg("wiring"), nb::arg("edges"), nb::arg("threads"));
    m.def("smooth", &smooth_masks, nb::arg("wiring"), nb::arg("edges"), nb::arg("threads"));
    m.def("permitted", &permitted, nb::arg("wiring"), nb::arg("prior"), nb::arg("edges"), nb::arg("threads"));
    m.def("draw", &draw_masks, nb::arg("wiring"), nb::arg("prior"), nb::arg("key"), nb::arg("first"),
          nb::arg("count"), nb::arg("threads"));
    m.def("breed", &breed_masks, nb::arg("wiring"), nb::arg("prior"), nb::arg("parents"), nb::arg("graft"),
          nb::arg("key"), nb::arg("first"), nb::arg("threads"));
    m.def("start_values", &start_values, nb::arg("rule"), nb::arg("masks"), nb::arg("key"), nb::arg("first"),
          nb::arg("threads"));
    m.def("inherit", &inherit_values, nb::arg("rule"), nb::arg("params").noconvert(), nb::arg("masks"),
          nb::arg("known"), nb::arg("parents"), nb::arg("threads"));
    m.def("packed", &packed, nb::arg("masks"), nb::arg("params"), nb::arg("threads"));
}

} // namespace ceql
