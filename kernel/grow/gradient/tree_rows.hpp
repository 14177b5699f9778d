// The rows of a tree with their statistics, and sums of these over nodes and codes. All that depends on the layout of
// statistics (lanes.hpp) lies behind this interface; growth and search are compiled once for all layouts.
//
//   entries   two buffers: a node's rows lie side by side in one of them, those of its children in the other
//   bins      the histogram of a node: a sum for every code of every feature (binned_data.hpp), in the layout. Small nodes
//             have only some blocks of it, the first ones, which have the fewest bins per feature
//   wide      what leaves the interface: exact sums in 64 bits, and real numbers for the search
//
// Rows may lie elsewhere (parted_rows.hpp). Growth then says in advance what it will want to know of the rows of many
// nodes, because every question to other processes is a journey; after that, it works as if the rows were here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "data/binned_data.hpp"
#include "grow/gradient/lanes.hpp"
#include "grow/row_numbers.hpp"

namespace arboretum {

// Where the rows of a node are: in one of the buffers, or elsewhere.
struct RowRange {
    static constexpr int elsewhere = -1;

    int buffer = 0;
    int64_t begin = 0, end = 0;
    int32_t part_node = -1;  // its number among the nodes that the parts know, also once its rows have come here

    int64_t size() const { return end - begin; }
    bool afar() const { return buffer == elsewhere; }
};

// What growth will want to know of the rows of a node that lie elsewhere.
struct RowRequest {
    enum class Kind : uint8_t {
        partition,  // rows to the children; the histogram of one of them, and rows of the right one by code
        count,      // rows by code of a feature
        build,      // the histogram of the node
        send        // the rows themselves: `rows` is then a range of a buffer here
    };
    enum Child : uint8_t { left, right, none };

    Kind kind;
    RowRange* rows;
    int32_t feature = -1;  // to count; of a partition: that of its condition
    Condition condition = {};
    Child summed = none;
    bool count_right = false;
};

// Sums of a feature of a node over the codes up to and including each: of all codes, or only of those that occur. Those
// of several features lie one after the other.
struct FeatureSums {
    std::vector<double> gradient, hessian;  // in real units
    std::vector<int64_t> rows;              // if they are known
    std::vector<Code> codes;                // if only some occur
    WideSum missing;                        // of the missing code alone
    int64_t missing_rows = 0;               // if they are known

    // And a vector more, of which anything may be read.
    void reserve(int64_t n) {
        n += cuts_at_once;
        if (static_cast<int64_t>(gradient.size()) >= n) return;
        for (auto* v : {&gradient, &hessian}) v->resize(n);
        rows.resize(n);
        codes.resize(n);
    }
};

// Which bins the rows of a small node use. Zero between nodes.
struct UsedBins {
    std::vector<uint32_t> rows;   // of each bin, unless hessians count them
    std::vector<uint64_t> marks;  // one bit per bin

    // visit(bin) for each marked bin in [begin, end), rising.
    template <class Visit>
    void for_each(int64_t begin, int64_t end, Visit&& visit) const {
        for (int64_t word = begin / 64; word * 64 < end; ++word) {
            uint64_t bits = marks[word];
            if (word == begin / 64) bits &= ~0ull << (begin % 64);
            if (word == end / 64) bits &= (1ull << (end % 64)) - 1;
            for (; bits != 0; bits &= bits - 1) visit(word * 64 + std::countr_zero(bits));
        }
    }
};

// Methods with a `thread` keep something in memory of its own.
class TreeRows {
  public:
    using Bins = std::byte;  // the first of a histogram

    virtual ~TreeRows() = default;

    virtual RowNumbers numbers(const RowRange& rows) const = 0;

    // Rows of a node to its children in the other buffer, stably. left: by code.
    virtual std::array<RowRange, 2> partition(int32_t feature, const std::vector<uint8_t>& left, const RowRange& rows,
                                              int threads) = 0;

    // ---- rows by code --------------------------------------------------------------------------------------------

    // counts[code − first] += rows of each code from `first` on, the missing code included.
    virtual void count(const RowRange& rows, int32_t feature, Code first, int64_t* counts) const = 0;
    // Whether both sides of a numeric cut have `least` rows. Stops looking as soon as they do.
    virtual bool both_sides_have(const RowRange& rows, int32_t feature, Code threshold, bool missing_left,
                                 int64_t least) const = 0;
    // seen[code] = 1 for the codes of all rows of the right child of a node that was partitioned by this feature. Codes
    // that went left may be left out, and all but missing for a numeric feature.
    virtual void mark_right(const RowRange& rows, int32_t feature, std::vector<uint8_t>& seen) const = 0;

    // counts[feature] += rows whose code is not its default, where these are listed (binned_data.hpp). One side of a cut
    // has no others.
    virtual void count_listed(const RowRange& rows, std::vector<int32_t>& counts) const = 0;

    // ---- rows elsewhere ------------------------------------------------------------------------------------------

    // Before the rows of these nodes are asked about; what was fetched before is forgotten.
    virtual void fetch(std::span<const RowRequest>) {}
    // Whether rows by code are at hand.
    virtual bool counted(const RowRange&, int32_t) const { return true; }
    // How much it is to send the rows of a node, in histograms.
    virtual double share_of_histogram(const RowRange&) const { return infinity; }
    // How many histograms all that was fetched would have been.
    virtual double histograms_fetched() const { return 0; }

    // ---- histograms ----------------------------------------------------------------------------------------------

    virtual int64_t histogram_bytes() const = 0;
    // The first n_blocks blocks.
    virtual void build(const RowRange& rows, Bins* bins, int32_t n_blocks, int threads) = 0;
    // larger = parent − smaller, in place.
    virtual void subtract(Bins* parent, const Bins* smaller, int32_t n_blocks) const = 0;
    // The same in blocks [first, last) from the rows of the smaller one; in all, where rows are listed.
    virtual void subtract_rows(Bins* parent, const RowRange& smaller, int32_t first, int32_t last) = 0;
    virtual void subtract_listed(Bins* parent, const RowRange& smaller) const = 0;

    // Rows of each bin, where rows are listed; else null: hessians tell enough, or rows of few features are counted.
    virtual const uint32_t* rows_by_bin(const Bins* bins) const = 0;

    virtual WideSum sum(const Bins* bins, int64_t bin) const = 0;
    // out[i] += the sum of bin first + i.
    virtual void add_sums(const Bins* bins, int64_t first, int64_t n, WideSum* out) const = 0;

    // ---- one feature ---------------------------------------------------------------------------------------------

    // Gradients and hessians up to each code, and those of missing values.
    virtual void load(const Bins* bins, const FeatureCodes& info, int thread, FeatureSums& sums) = 0;
    // The same of several features without missing values, one after the other, but for the last code of each; returns
    // how many entries there are.
    virtual int64_t load_cuts(const Bins* bins, std::span<const int32_t> features, int thread, FeatureSums& sums) = 0;
    // What was loaded or gathered last: the exact sum up to an entry.
    virtual WideSum loaded(int64_t entry, int thread) const = 0;
    // The same for codes in a given order.
    virtual void load_ordered(const Bins* bins, const FeatureCodes& info, const std::vector<Code>& order,
                              FeatureSums& sums) const = 0;

    // ---- small nodes: only the codes that occur, in memory that is zero between nodes -------------------------------

    // Blocks [first, last).
    virtual void gather(const RowRange& rows, int32_t first, int32_t last, int thread, UsedBins& used) = 0;
    // Several features one after the other; ends[i]: of the entries of features[i], one for each code that occurs. What
    // is missing is that of the last one.
    virtual void load_gathered(std::span<const int32_t> features, int thread, const UsedBins& used, FeatureSums& sums,
                               int64_t* ends) = 0;
    virtual void clear_gathered(int thread, UsedBins& used) = 0;

    // ---- what goes to other processes ----------------------------------------------------------------------------

    virtual int64_t stat_bytes() const = 0;
    virtual int64_t sum_bytes() const = 0;  // words of 8: sums of parts are added word by word
    virtual void copy_stats(const RowRange& rows, std::byte* out) const = 0;
};

}  // namespace arboretum
