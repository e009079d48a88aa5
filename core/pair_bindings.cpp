// The interface for pairs of terms: checks sizes, shares the second terms among threads, and keeps the best
// pairs.
#include "pair_bindings.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "arrays.hpp"
#include "batch.hpp"

namespace nb = nanobind;

namespace ceql {
namespace {

// Ties are broken by position, so that the best pairs do not depend on the number of threads.
struct Place {
    float key, gain;
    int64_t index;
    bool operator<(const Place &other) const {
        return key != other.key ? key < other.key : index < other.index;
    }
};

// Keeps the few places with the smallest keys.
class Few {
public:
    explicit Few(size_t most) : most_(most) {}
    // Larger keys are not needed.
    float limit() const {
        constexpr float all = std::numeric_limits<float>::infinity();
        return most_ == 0 ? -all : places_.size() < most_ ? all : places_.back().key;
    }
    bool wants(float key) const { return most_ > 0 && (places_.size() < most_ || key <= places_.back().key); }
    void add(const Place &place) {
        places_.insert(std::upper_bound(places_.begin(), places_.end(), place), place);
        if (places_.size() > most_)
            places_.pop_back();
    }
    const std::vector<Place> &places() const { return places_; }

private:
    size_t most_;
    std::vector<Place> places_;
};

struct Best {
    Few by_gain, by_score;
};

// Returns the best pairs of some second terms with all first ones.
Best best_of_panel(const PairScan<float> &scan, int64_t first, size_t most, Arena &arena) {
    const Kernel<float> &own = kernel<float>();
    const int lanes = own.lane_count;
    const auto take = [&](size_t count) { return static_cast<float *>(arena.take(count * sizeof(float))); };
    float *panel = take(size_t(scan.rows) * scan.other_width * lanes);
    float *gain = take(size_t(pair_rows) * lanes), *score = take(size_t(pair_rows) * lanes);
    own.lay_out_panel(scan, first, panel);
    Best best{Few(most), Few(most)};
    const int64_t last = std::min(first + lanes, scan.others), rows = scan.ordered ? last - 1 : scan.count;
    for (int64_t row = 0; row < rows; row += pair_rows) {
        float of_block[2];
        own.pair_gains(scan, first, panel, row / pair_rows, best.by_score.limit(), gain, score, of_block);
        if (!best.by_gain.wants(-of_block[0]) && !best.by_score.wants(of_block[1]))
            continue;
        for (int64_t i = row; i < std::min(row + pair_rows, rows); ++i)
            for (int64_t j = scan.ordered ? std::max(first, i + 1) : first; j < last; ++j) {
                const int64_t k = (i - row) * lanes + j - first, index = i * scan.others + j;
                if (best.by_gain.wants(-gain[k]))
                    best.by_gain.add({-gain[k], gain[k], index});
                if (best.by_score.wants(score[k]))
                    best.by_score.add({score[k], gain[k], index});
            }
    }
    return best;
}

std::vector<Place> best_of(const PairScan<float> &scan, size_t most, int threads) {
    const int64_t lanes = kernel<float>().lane_count, panels = (scan.others + lanes - 1) / lanes;
    std::vector<Best> found(size_t(panels), Best{Few(most), Few(most)});
    std::atomic<int32_t> stop{0};
    share_work(
        panels, threads, stop,
        [&](int64_t p, Arena &arena) { found[size_t(p)] = best_of_panel(scan, p * lanes, most, arena); },
        [] { return false; });
    Best best{Few(most), Few(most)};
    for (const Best &part : found) {
        for (const Place &place : part.by_gain.places())
            best.by_gain.add(place);
        for (const Place &place : part.by_score.places())
            best.by_score.add(place);
    }
    std::vector<Place> all = best.by_gain.places();
    all.insert(all.end(), best.by_score.places().begin(), best.by_score.places().end());
    std::sort(all.begin(), all.end(), [](const Place &a, const Place &b) { return a.index < b.index; });
    const auto same = [](const Place &a, const Place &b) { return a.index == b.index; };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    return all;
}

// Rearranges (width, count) as (blocks, width, pair_rows), with zeros at the end.
std::vector<float> in_blocks(const float *values, size_t width, size_t count) {
    const size_t blocks = (count + pair_rows - 1) / pair_rows;
    std::vector<float> laid_out(blocks * width * pair_rows);
    for (size_t a = 0; a < width; ++a)
        for (size_t i = 0; i < count; ++i)
            laid_out[(i / pair_rows * width + a) * pair_rows + i % pair_rows] = values[a * count + i];
    return laid_out;
}

auto best_pairs(const Array<float, 3> &first, const Array<float, 3> &second, const Array<float, 2> &along,
                const Array<float, 2> &rest, const Array<float, 2> &present, const Array<float, 1> &prices,
                const Array<float, 1> &other_prices, int64_t most, float weight, float least_left,
                float too_much, float rounding, bool ordered, int threads) {
    const size_t width = first.shape(0), rows = first.shape(1), count = first.shape(2),
                 other_width = second.shape(0), others = second.shape(2);
    require(width >= 1 && (other_width == 1 || other_width == 2), "a second term has one or two directions");
    require(second.shape(1) == rows, "the directions of both need the same rows");
    require(along.shape(0) == width && along.shape(1) == count && prices.shape(0) == count,
            "along and prices need an entry per first term");
    require(rest.shape(0) == other_width && rest.shape(1) == others && present.shape(0) == other_width &&
                present.shape(1) == others && other_prices.shape(0) == others,
            "rest, present and other_prices need an entry per second term");
    require(most >= 0 && (!ordered || count == others), "one list has as many second terms as first ones");
    std::vector<Place> best;
    {
        nb::gil_scoped_release release;
        const std::vector<float> blocks = in_blocks(first.data(), width * rows, count),
                                 along_blocks = in_blocks(along.data(), width, count),
                                 price_blocks = in_blocks(prices.data(), 1, count);
        const PairScan<float> scan = {int32_t(width),
                                      int32_t(other_width),
                                      int64_t(rows),
                                      int64_t(count),
                                      int64_t(others),
                                      blocks.data(),
                                      second.data(),
                                      along_blocks.data(),
                                      rest.data(),
                                      present.data(),
                                      price_blocks.data(),
                                      other_prices.data(),
                                      weight,
                                      least_left,
                                      too_much,
                                      rounding,
                                      ordered};
        best = best_of(scan, size_t(most), threads);
    }
    auto index = unfilled_array<int64_t>(best.size());
    auto gain = unfilled_array<float>(best.size());
    for (size_t k = 0; k < best.size(); ++k) {
        index.data()[k] = best[k].index;
        gain.data()[k] = best[k].gain;
    }
    return std::make_tuple(index, gain);
}

} // namespace

void bind_pairs(nb::module_ &m) {
    m.def("best_pairs", &best_pairs, nb::arg("first"), nb::arg("second"), nb::arg("along"), nb::arg("rest"),
          nb::arg("present"), nb::arg("prices"), nb::arg("other_prices"), nb::arg("most"), nb::arg("weight"),
          nb::arg("least_left"), nb::arg("too_much"), nb::arg("rounding"), nb::arg("ordered"),
          nb::arg("threads"));
}

} // namespace ceql
