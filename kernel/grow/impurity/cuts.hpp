// What a tree of impurity may look like, and what a cut of one of its nodes is.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "base/midpoint.hpp"
#include "base/rng.hpp"
#include "base/types.hpp"
#include "grow/bounds.hpp"

namespace arboretum {

// What an impurity tree may look like. Python's frozen SplitRules is packed into this once per fit.
struct SplitRules {
    bool random_thresholds = false;
    int max_depth = 0;       // <= 0: no limit
    int max_leaf_nodes = 0;  // <= 0: no limit
    int64_t min_samples_split = 2;
    int64_t min_samples_leaf = 1;
    double min_weight_leaf = 0;
    double min_impurity_decrease = 0;  // per unit of the tree's weight
    int max_features = 0;              // features that a node looks at; <= 0: all
    std::vector<int8_t> monotone;      // per feature; empty: none
};

// Where the values of a code begin and end, in the user's units; both are the value itself if every value has its code.
class CodeEdges {
  public:
    // start: first code of each feature in the other two, which the caller keeps.
    CodeEdges(std::vector<int64_t> start, std::span<const double> lower, std::span<const double> upper)
        : start_(std::move(start)), lower_(lower), upper_(upper) {}

    // Before codes are looked up by numbers.
    void make_cells() {
        middle_.resize(lower_.size());
        for (size_t i = 0; i < lower_.size(); ++i) middle_[i] = middle_at(static_cast<int64_t>(i));
        for (size_t f = 0; f < start_.size(); ++f) add_cells(f);
    }

    // A threshold t with upper(a) <= t < lower(b), in the middle; below an infinity the largest number.
    double between(int32_t feature, Code a, Code b) const {
        const double low = upper_[start_[feature] + a], high = lower_[start_[feature] + b];
        return nearest(midpoint(low, high), low, high);
    }
    // The threshold between a code and the next that is nearest to `wanted`. Bins touch: then it is the cut between
    // them, so that a forest has few thresholds.
    double cut_after(int32_t feature, Code code, double wanted) const {
        const int64_t at = start_[feature] + code;
        return nearest(wanted, upper_[at], lower_[at + 1]);
    }
    // Needs cells.
    double middle(int32_t feature, Code code) const { return middle_[start_[feature] + code]; }
    // What random draws know a category by: its value, since codes depend on the rows. 0 for missing.
    uint64_t key(int32_t feature, Code code) const {
        const int64_t at = start_[feature] + code;
        const int64_t end = feature + 1 < static_cast<int64_t>(start_.size()) ? start_[feature + 1]
                                                                              : static_cast<int64_t>(lower_.size());
        return at < end ? std::bit_cast<uint64_t>(middle_at(at)) : 0;
    }

    // The last code from `least` on, before `most`, whose middle is not above t. Needs cells.
    Code last_up_to(int32_t feature, Code least, Code most, double t) const {
        const double* middles = middle_.data() + start_[feature];
        const Cells& cells = cells_[feature];
        const Code* first = cell_starts_.data() + cells.start + cells.of(t);
        Code code = std::max(least, first[0] - std::min(first[0], Code{1}));
        Code n = std::min(most, first[1]) - std::min(code, std::min(most, first[1]));
        // A product, not a choice: compilers turn a choice into a branch that is mispredicted half the time.
        while (n > 1) {
            const Code half = n / 2;
            code += half * Code{middles[code + half] <= t};
            n -= half;
        }
        return std::min(code, most - 1);
    }

  private:
    double middle_at(int64_t at) const {
        const double low = lower_[at], high = upper_[at];
        return std::isinf(low) ? high : std::isinf(high) ? low : midpoint(low, high);
    }

    static double nearest(double wanted, double low, double high) {
        if (wanted >= low && wanted < high) return wanted;
        return wanted < low || !(low < high) ? low : std::nextafter(high, low);
    }

    // The range of a feature in cells of equal width, so that few codes are left to be searched: those before the first
    // of cell c lie in earlier cells, those from the first of cell c + 1 on in later ones. A number's cell rises with
    // the number, whatever is rounded.
    struct Cells {
        static constexpr int n = 256;

        double origin = 0, scale = 0;  // scale 0: one cell
        int64_t start = 0;             // in cell_starts_

        int of(double x) const {
            return scale > 0 ? static_cast<int>(std::clamp((x - origin) * scale, 0.0, n - 1.0)) : 0;
        }
    };

    void add_cells(size_t feature) {
        const size_t begin = start_[feature], end = feature + 1 < start_.size() ? start_[feature + 1] : middle_.size();
        Cells cells;
        cells.start = static_cast<int64_t>(cell_starts_.size());
        if (begin < end) {
            cells.origin = middle_[begin];
            const double width = middle_[end - 1] - middle_[begin];
            if (width > 0 && std::isfinite(width) && std::isfinite(Cells::n / width)) cells.scale = Cells::n / width;
        }
        Code code = 0;
        for (int c = 0; c < Cells::n; ++c) {
            while (begin + code < end && cells.of(middle_[begin + code]) < c) ++code;
            cell_starts_.push_back(code);
        }
        cell_starts_.push_back(static_cast<Code>(end - begin));
        cells_.push_back(cells);
    }

    std::vector<int64_t> start_;
    std::span<const double> lower_, upper_;
    std::vector<double> middle_;
    std::vector<Cells> cells_;
    std::vector<Code> cell_starts_;
};

struct Cut {
    double gain = -infinity;  // a cut that gains nothing is still taken: the next one may gain (exclusive or)
    double bar = -infinity;   // what another must pass: cuts that tie but for rounding tie, and the first one stays
    Condition condition;
    double threshold = 0;  // in the user's units
    int projection = -1;   // its number, for an oblique condition
    bool found() const { return condition.feature >= 0; }
};

// What another gain must pass.
inline double bar_above(double gain) { return gain + 1e-10 * std::abs(gain); }

// ---- random cuts: extremely randomized trees (Geurts, Ernst & Wehenkel 2006) -------------------------------------------

inline uint64_t random_cut_bits(uint64_t path, int32_t feature) {
    return draw(path, 0x6375740000 + static_cast<uint64_t>(feature));  // "cut"
}

// Uniform between the least and the largest value of a node.
inline double random_threshold(const CodeEdges& edges, int32_t feature, Code least, Code most, uint64_t bits) {
    const double low = edges.middle(feature, least), high = edges.middle(feature, most), u = unit(bits);
    return low * (1 - u) + high * u;  // high − low may overflow
}

// Inside a bin it moves to the bin's end, so that training and prediction agree. below, above: codes on either side.
inline double random_cut(const CodeEdges& edges, uint64_t path, int32_t feature, Code below, Code above) {
    const double t = random_threshold(edges, feature, below, above, random_cut_bits(path, feature));
    return edges.cut_after(feature, edges.last_up_to(feature, below, above, t), t);
}

}  // namespace arboretum
