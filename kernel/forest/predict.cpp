#include "forest/predict.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/per_thread.hpp"
#include "base/simd.hpp"

namespace arboretum {

namespace {

constexpr int block_rows = 128;

template <class Value>
struct alignas(64) Lane {
    Value at[block_rows];
};

// ---- loops over one block ---------------------------------------------------------------------------------------

// A category condition becomes a code lane of 0 (left) and 1 (right).
[[gnu::always_inline]] inline const uint8_t* code_lane(const Select& node, const Lane<uint8_t>* codes,
                                                       const Lane<int32_t>* categories, const uint32_t* right_sets,
                                                       Lane<uint8_t>& looked_up) {
    if (node.set == no_set) return codes[node.lane].at;
    const int32_t* category = categories[node.lane].at;
    const uint32_t* set = right_sets + node.set;
    for (int r = 0; r < block_rows; ++r)
        looked_up.at[r] = static_cast<uint8_t>((set[category[r] >> 5] >> (category[r] & 31)) & 1);
    return looked_up.at;
}

ARBORETUM_CLONES void run_selects(const Select* begin, const Select* end, const Lane<uint8_t>* codes,
                                  const Lane<int32_t>* categories, const uint32_t* right_sets, Lane<uint8_t>* slots) {
    Lane<uint8_t> looked_up;
    for (const Select* node = begin; node != end; ++node) {
        const uint8_t* code = code_lane(*node, codes, categories, right_sets, looked_up);
        const uint8_t *left = slots[node->left].at, *right = slots[node->right].at;
        uint8_t *out = slots[node->out].at, k = node->code;
        ARBORETUM_INDEPENDENT
        for (int r = 0; r < block_rows; ++r) {
            uint8_t a = left[r], b = right[r];
            out[r] = code[r] <= k ? a : b;
        }
    }
}

ARBORETUM_CLONES void run_levels(const Select* begin, const Select* end, const Lane<uint8_t>* codes,
                                 const Lane<int32_t>* categories, const uint32_t* right_sets, uint8_t* leaf) {
    Lane<uint8_t> looked_up;
    std::memset(leaf, 0, block_rows);
    for (const Select* level = begin; level != end; ++level) {
        const uint8_t* code = code_lane(*level, codes, categories, right_sets, looked_up);
        uint8_t k = level->code;
        ARBORETUM_INDEPENDENT
        for (int r = 0; r < block_rows; ++r) leaf[r] = static_cast<uint8_t>(2 * leaf[r] + (code[r] > k));
    }
}

// The halving is a product, not a choice: compilers turn a choice into a branch that fails every other time.
template <class Value, class Index>
[[gnu::noinline]] inline void refine_ranks(const Value* x, const Value* table, int fine, Index* rank) {
    for (int r = 0; r < block_rows; ++r) {
        size_t at = static_cast<size_t>(rank[r]) * fine;
        for (size_t step = fine / 2; step > 0; step /= 2) at += step * size_t{table[at + step - 1] < x[r]};
        rank[r] = static_cast<Index>(at);
    }
}

// rank[r] = #{i : table[i] < x[r]}; a missing value compares false and gets 0.
template <class Value, class Index>
[[gnu::always_inline]] inline void rank_values(const Value* x, const Value* table, int n_coarse, int fine,
                                               uint8_t* missing_left, uint8_t* missing_right) {
    alignas(64) Index rank[block_rows] = {};
    for (int i = 1; i <= n_coarse; ++i) {
        Value threshold = table[i * fine - 1];
        for (int r = 0; r < block_rows; ++r) rank[r] += threshold < x[r];
    }
    if (fine > 1) refine_ranks(x, table, fine, rank);
    for (int r = 0; r < block_rows; ++r) {
        missing_left[r] = static_cast<uint8_t>(rank[r]);
        missing_right[r] = x[r] != x[r] ? missing_right_code : static_cast<uint8_t>(rank[r]);
    }
}

ARBORETUM_CLONES void rank_float32(const float* x, const float* table, int n_coarse, int fine, uint8_t* missing_left,
                                   uint8_t* missing_right) {
    rank_values<float, int32_t>(x, table, n_coarse, fine, missing_left, missing_right);
}

ARBORETUM_CLONES void rank_float64(const double* x, const double* table, int n_coarse, int fine, uint8_t* missing_left,
                                   uint8_t* missing_right) {
    rank_values<double, int64_t>(x, table, n_coarse, fine, missing_left, missing_right);
}

// ---- all rows ---------------------------------------------------------------------------------------------------

constexpr int walkers = 8;
constexpr int64_t few_rows = 20;    // below, ranking costs more than it saves
constexpr int64_t many_rows = 256;  // from here on a deep tree is walked by a chunk of rows at a time
constexpr size_t most_lanes = 32000;
constexpr int64_t chunk_rows = 4 * block_rows;
constexpr int64_t chunk_averaged = 16 * block_rows;  // rows that may go through a tree together
constexpr int64_t work_per_thread = 1 << 14;         // visits of a row to a tree that repay waking a thread

// Rows of a chunk, at most `most`, if every thread is to get as many chunks.
int64_t fair_chunk(int64_t n_rows, int64_t most, int threads) {
    const int64_t least = (n_rows + most - 1) / most, chunks = (least + threads - 1) / threads * threads;
    return (n_rows - 1) / chunks + 1;
}

struct Request {
    const RawColumn* columns;
    int64_t n_rows, first, last;
    Unknown unknown;
};

// Rows that take both children at some node go through a tree together. The rows that wait at nodes lie one after the
// other, those of the leftmost node last:
//
//   waiting   node 9     node 4   node 3           from right to left in the tree
//   row       0 2 5 7  | 0 1 4  | 1 4 6            places of rows in their chunk
//   share     ½ ½ ½ 1  | …                         of the row that is there
struct SharedRows {
    struct Node {
        uint32_t position;
        size_t begin;
    };
    std::vector<Node> waiting;
    size_t n_rows;
    std::vector<double> columns;          // place × row: the same values, for nodes that many rows read
    std::vector<uint8_t> all_unknown;     // used feature of categories → no row has one that is known, or missing
    std::vector<uint32_t> row, row_left;  // …left: scratch
    std::vector<double> share, share_left;

    // rows: row × places.
    void read(const double* rows, size_t n, size_t width) {
        n_rows = n;
        columns.resize(n * width);
        all_unknown.assign(width / 2, 1);
        for (size_t i = 0; i < n; ++i)
            for (size_t place = 0; place < width; ++place) {
                const double value = columns[place * n + i] = rows[i * width + place];
                all_unknown[place / 2] &= value < missing_category;
            }
    }
    void hold(size_t n) {
        if (row.size() >= n) return;
        for (std::vector<uint32_t>* list : {&row, &row_left}) list->resize(2 * n);
        for (std::vector<double>* list : {&share, &share_left}) list->resize(2 * n);
    }
};

struct Scratch {
    std::vector<Lane<uint8_t>> slots, codes;
    std::vector<Lane<int32_t>> categories;
    std::vector<double> rows;       // row × places (compile.hpp, WalkNode)
    std::vector<int64_t> averaged;  // rows of the chunk that take both children at some node
    std::vector<double> saved;      // averaged row × output
    std::vector<double> averages;   // averaged row × what the sink keeps of a tree
    SharedRows shared;
};

// A sink receives the leaves of a row in the order of the trees.
struct RawSink {
    const CompiledForest& forest;
    double* out;

    double* totals(int64_t row) const { return out + row * forest.n_outputs; }
    double* totals(int64_t row, int64_t t) const { return totals(row) + std::max(forest.trees[t].output, 0); }
    void take(int64_t t, uint32_t leaf, int64_t row) const {
        const double* value = &forest.leaf_value[leaf * forest.width];
        double* total = totals(row, t);
        for (int64_t j = 0; j < forest.width; ++j) total[j] += value[j];
    }
    void take_block(int64_t t, const uint8_t* leaf, int64_t begin, int count) const {
        uint32_t first_leaf = forest.trees[t].first_leaf;
        if (forest.width > 1) {
            for (int r = 0; r < count; ++r) take(t, first_leaf + leaf[r], begin + r);
            return;
        }
        const double* value = &forest.leaf_value[first_leaf];
        double* total = totals(begin, t);
        for (int r = 0; r < count; ++r) total[r * forest.n_outputs] += value[leaf[r]];
    }
    // Averages of a tree: what a row starts with, each leaf that it reaches, from left to right, and the end.
    int64_t kept() const { return forest.width; }
    void start_average(double* mean) const { std::fill_n(mean, forest.width, 0.0); }
    void add_share(int64_t, uint32_t leaf, double share, int64_t, double* mean) const {
        const double* value = &forest.leaf_value[leaf * forest.width];
        for (int64_t j = 0; j < forest.width; ++j) mean[j] += share * value[j];
    }
    void take_average(int64_t t, int64_t row, const double* mean) const {
        double* total = totals(row, t);
        for (int64_t j = 0; j < forest.width; ++j) total[j] += mean[j];
    }
    // Trees are run for all rows of a block; those that are averaged start again from what they held before.
    void save(int64_t row, double* saved) const { std::copy_n(totals(row), forest.n_outputs, saved); }
    void restore(int64_t row, const double* saved) const { std::copy_n(saved, forest.n_outputs, totals(row)); }
};

// Linear leaves read the row once more.
struct LinearSink : RawSink {
    const RawColumn* columns;

    double value(uint32_t leaf, int64_t row) const {
        return linear_value(forest.leaf_value[leaf], forest.slopes_of(leaf),
                            [&](const SlopeTerm& term) { return columns[term.feature].number(row); });
    }
    void take(int64_t t, uint32_t leaf, int64_t row) const { *totals(row, t) += value(leaf, row); }
    void take_block(int64_t t, const uint8_t* leaf, int64_t begin, int count) const {
        for (int r = 0; r < count; ++r) take(t, forest.trees[t].first_leaf + leaf[r], begin + r);
    }
    void add_share(int64_t, uint32_t leaf, double share, int64_t row, double* mean) const {
        *mean += share * value(leaf, row);
    }
};

struct LeafSink {
    const CompiledForest& forest;
    int32_t* out;
    int64_t first, n_trees;

    void take(int64_t t, uint32_t leaf, int64_t row) const { out[row * n_trees + t - first] = forest.leaf_node[leaf]; }
    void take_block(int64_t t, const uint8_t* leaf, int64_t begin, int count) const {
        for (int r = 0; r < count; ++r) take(t, forest.trees[t].first_leaf + leaf[r], begin + r);
    }
    int64_t kept() const { return 1; }
    void start_average(double* largest) const { *largest = -1; }
    void add_share(int64_t t, uint32_t leaf, double share, int64_t row, double* largest) const {
        if (share <= *largest) return;
        *largest = share;
        take(t, leaf, row);
    }
    void take_average(int64_t, int64_t, const double*) const {}
    void save(int64_t, double*) const {}
    void restore(int64_t, const double*) const {}
};

// The trees of one request.
class ForestRun {
  public:
    ForestRun(const CompiledForest& forest, const std::optional<DeepForest>& deep) : forest_(forest), deep_(deep) {}

    template <class Sink>
    void run(const Request& request, int threads, const Sink& sink) const {
        int64_t work = request.n_rows * (request.last - request.first);
        threads = static_cast<int>(std::clamp<int64_t>(work / work_per_thread, 1, std::max(threads, 1)));
        bool in_blocks = request.n_rows >= few_rows;
        if (!in_blocks) {
            Scratch scratch = make_scratch(false);
            for (int64_t row = 0; row < request.n_rows; ++row) run_row(request, row, scratch, sink);
            return;
        }
        if (deep_ && request.n_rows >= many_rows) return run_deep(request, threads, sink);
        const bool may_average = forest_.n_category_lanes > 0 && request.unknown == Unknown::average;
        const int64_t chunk = may_average ? fair_chunk(request.n_rows, chunk_averaged, threads) : chunk_rows;
        PerThread<Scratch> scratch(threads);
        parallel_blocks(request.n_rows, chunk, threads, [&](int64_t begin, int64_t end, int worker) {
            Scratch& own = scratch[worker];
            if (own.slots.empty()) own = make_scratch(true);
            own.averaged.clear(), own.saved.clear();
            for (; begin < end; begin += block_rows)
                run_block(request, begin, static_cast<int>(std::min<int64_t>(block_rows, end - begin)), own, sink);
            if (!own.averaged.empty()) average_rows(request, own, sink);
        });
    }

  private:
    template <class Sink>
    void run_deep(const Request& request, int threads, const Sink& sink) const {
        std::vector<const RawColumn*> columns;
        for (const UsedFeature& used : forest_.used) columns.push_back(request.columns + used.feature);
        const int64_t chunk = fair_chunk(request.n_rows, DeepForest::most_rows, threads);
        parallel_blocks(request.n_rows, chunk, threads, [&](int64_t begin, int64_t end, int) {
            const DeepForest::Codes codes = deep_->rank(columns, begin, end - begin);
            for (int64_t t = request.first; t < request.last; ++t) {
                const PackedTree& tree = forest_.trees[t];
                DeepForest::prefetch(&forest_.leaf_of[tree.root], 2 * tree.n_leaves - 1);
                DeepForest::prefetch(&forest_.leaf_value[tree.first_leaf * forest_.width],
                                     tree.n_leaves * forest_.width);
                deep_->walk(tree, codes, end - begin,
                            [&](uint32_t at, int64_t row) { sink.take(t, forest_.leaf_of[at], begin + row); });
            }
        });
    }

    Scratch make_scratch(bool in_blocks) const {
        Scratch scratch;
        const bool many = in_blocks && forest_.has_walks;
        scratch.rows.resize(std::max<size_t>(2 * forest_.used.size(), 1) * (many ? block_rows : 1));
        if (!in_blocks) return scratch;
        scratch.slots.resize(byte_leaves + CompiledForest::temporaries);
        for (uint32_t leaf = 0; leaf < byte_leaves; ++leaf) std::memset(scratch.slots[leaf].at, leaf, block_rows);
        scratch.codes.resize(forest_.n_code_lanes);
        scratch.categories.resize(forest_.n_category_lanes);
        return scratch;
    }

    // ---- one row ----------------------------------------------------------------------------------------------------

    template <class Sink>
    void run_row(const Request& request, int64_t row, Scratch& scratch, const Sink& sink) const {
        double* values = scratch.rows.data();
        load_row(request, row, values);
        if (is_averaged(request, values)) {
            scratch.averaged.assign(1, row);
            scratch.saved.resize(forest_.n_outputs);
            sink.save(row, scratch.saved.data());
            return average_rows(request, scratch, sink);
        }
        const double* rows[walkers];
        std::fill_n(rows, walkers, values);
        for (int64_t t = request.first; t < request.last; t += walkers) {
            int64_t end = std::min(request.last, t + walkers);
            uint32_t at[walkers];
            for (int i = 0; i < walkers; ++i) at[i] = forest_.trees[std::min(t + i, end - 1)].root;
            walk(at, rows);
            for (int64_t i = t; i < end; ++i) sink.take(i, forest_.leaf_of[at[i - t]], row);
        }
    }

    void load_row(const Request& request, int64_t row, double* values) const {
        for (const UsedFeature& used : forest_.used) {
            const RawColumn& column = request.columns[used.feature];
            double value = used.is_category ? column.at<int32_t>(row) : column.number(row);
            *values++ = std::isnan(value) ? -infinity : value;
            *values++ = value;
        }
    }

    // Does the row meet a category that some set of its feature does not cover, and must it be averaged?
    bool is_averaged(const Request& request, const double* values) const {
        if (request.unknown != Unknown::average || forest_.n_category_lanes == 0) return false;
        for (const UsedFeature& used : forest_.used) {
            double value = values[2 * (&used - forest_.used.data())];
            if (used.is_category && (value < missing_category || value >= used.known_codes)) return true;
        }
        return false;
    }

    // Moves every walker from its node to its leaf: a leaf sends it back to itself.
    void walk(uint32_t* at, const double* const* rows) const {
        if (!forest_.projections.empty())
            walk_nodes<true, true>(at, rows);
        else if (forest_.n_category_lanes > 0)
            walk_nodes<true, false>(at, rows);
        else
            walk_nodes<false, false>(at, rows);
    }

    template <bool categories, bool oblique>
    void walk_nodes(uint32_t* at, const double* const* rows) const {
        const WalkNode* nodes = forest_.nodes.data();
        auto step = [&] {
            for (int i = 0; i < walkers; ++i) {
                const WalkNode& node = nodes[at[i]];
                bool left;
                if (categories && node.category())
                    left = goes(forest_.condition(node), rows[i][2 * node.used()], Unknown::missing) == Side::left;
                else if (oblique && node.oblique())
                    left = forest_.goes_left_projected(node, rows[i]);
                else
                    left = rows[i][node.place] <= node.threshold;
                at[i] = node.left + !left;
            }
        };
        uint32_t before[walkers];
        do {
            step(), step(), step();
            std::copy_n(at, walkers, before);
            step();
        } while (!std::equal(at, at + walkers, before));
    }

    // ---- rows that take both children at some node --------------------------------------------------------------

    template <class Sink>
    void average_rows(const Request& request, Scratch& scratch, const Sink& sink) const {
        const size_t n = scratch.averaged.size();
        const int64_t kept = sink.kept();
        scratch.rows.resize(std::max(scratch.rows.size(), n * row_width()));
        scratch.averages.resize(n * kept);
        for (size_t i = 0; i < n; ++i) {
            load_row(request, scratch.averaged[i], &scratch.rows[i * row_width()]);
            sink.restore(scratch.averaged[i], &scratch.saved[i * forest_.n_outputs]);
        }
        scratch.shared.read(scratch.rows.data(), n, row_width());
        for (int64_t t = request.first; t < request.last; ++t) {
            for (size_t i = 0; i < n; ++i) sink.start_average(&scratch.averages[i * kept]);
            share_out(forest_.trees[t].root, n, scratch, [&](uint32_t leaf, double share, uint32_t i) {
                sink.add_share(t, leaf, share, scratch.averaged[i], &scratch.averages[i * kept]);
            });
            for (size_t i = 0; i < n; ++i) sink.take_average(t, scratch.averaged[i], &scratch.averages[i * kept]);
        }
    }

    // Calls take(leaf, share, row) for all leaves that rows 0 … n − 1 reach, from left to right.
    template <class Take>
    void share_out(uint32_t root, size_t n, Scratch& scratch, Take&& take) const {
        SharedRows& at = scratch.shared;
        at.hold(n);
        std::iota(at.row.begin(), at.row.begin() + n, 0u);
        std::fill_n(at.share.begin(), n, 1.0);
        at.waiting.assign(1, {root, 0});
        for (size_t end = n; !at.waiting.empty();) {
            auto [position, begin] = at.waiting.back();
            at.waiting.pop_back();
            if (end - begin == 1) position = walk_alone(position, &scratch.rows[at.row[begin] * row_width()]);
            if (forest_.is_leaf(position)) {
                const uint32_t leaf = forest_.leaf_of[position];
                for (size_t i = begin; i < end; ++i) take(leaf, at.share[i], at.row[i]);
                end = begin;
                continue;
            }
            at.hold(2 * end - begin);
            const auto [n_left, n_right] = part_rows(position, begin, end, scratch.rows.data(), at);
            const uint32_t left = forest_.nodes[position].left;
            if (n_right > 0) at.waiting.push_back({left + 1, begin});
            if (n_left > 0) at.waiting.push_back({left, begin + n_right});
            end = begin + n_right + n_left;
        }
    }

    // A single row needs no lists until it takes both children.
    uint32_t walk_alone(uint32_t position, const double* values) const {
        for (Side side; !forest_.is_leaf(position); position = forest_.nodes[position].left + (side == Side::right)) {
            side = side_at(forest_.nodes[position], values);
            if (side == Side::both) break;
        }
        return position;
    }

    Side side_at(const WalkNode& node, const double* values) const {
        if (node.category()) return goes(forest_.condition(node), values[2 * node.used() + 1], Unknown::average);
        if (node.oblique()) return side(forest_.goes_left_projected(node, values));
        return side(values[node.place] <= node.threshold);
    }

    // Puts the rows of a node that go right before those that go left; returns how many go left and right. Without
    // branches: a row is written to both sides, and stays where it goes.
    std::pair<size_t, size_t> part_rows(uint32_t position, size_t begin, size_t end, const double* values,
                                        SharedRows& at) const {
        const WalkNode& node = forest_.nodes[position];
        uint32_t *row = at.row.data(), *row_left = at.row_left.data();
        double *share = at.share.data(), *share_left = at.share_left.data();
        if (node.category() && at.all_unknown[node.used()]) {
            double_rows(begin, end, forest_.left_share[position], at);
            return {end - begin, end - begin};
        }
        size_t n_left = 0, n_right = 0;
        auto part = [&](auto&& side_of, double to_left) {
            for (size_t i = begin; i < end; ++i) {
                const uint32_t r = row[i];
                const double all = share[i];
                const Side side = side_of(r);
                row_left[n_left] = row[begin + n_right] = r;
                share_left[n_left] = side == Side::both ? all * to_left : all;
                share[begin + n_right] = side == Side::both ? all * (1.0 - to_left) : all;
                n_left += side != Side::right, n_right += side != Side::left;
            }
        };
        if (node.category()) {
            const RawCondition condition = forest_.condition(node);
            const double* x = at.columns.data() + (2 * node.used() + 1) * at.n_rows;
            part([&](uint32_t r) { return goes(condition, x[r], Unknown::average); }, forest_.left_share[position]);
        } else if (node.oblique()) {
            part([&](uint32_t r) { return side_at(node, values + r * row_width()); }, 1.0);
        } else {
            const double* x = at.columns.data() + node.place * at.n_rows;
            part([&, threshold = node.threshold](uint32_t r) { return side(x[r] <= threshold); }, 1.0);
        }
        std::copy_n(row_left, n_left, row + begin + n_right);
        std::copy_n(share_left, n_left, share + begin + n_right);
        return {n_left, n_right};
    }

    // All rows take both children.
    static void double_rows(size_t begin, size_t end, double to_left, SharedRows& at) {
        const size_t n = end - begin;
        std::copy_n(at.row.data() + begin, n, at.row.data() + end);
        double *right = at.share.data() + begin, *left = at.share.data() + end;
        ARBORETUM_INDEPENDENT
        for (size_t i = 0; i < n; ++i) {
            left[i] = right[i] * to_left;
            right[i] *= 1.0 - to_left;
        }
    }

    size_t row_width() const { return 2 * forest_.used.size(); }

    // ---- one block --------------------------------------------------------------------------------------------------

    template <class Sink>
    void run_block(const Request& request, int64_t begin, int count, Scratch& scratch, const Sink& sink) const {
        if (load_categories(request, begin, count, scratch, sink) == count) return;
        for (int r = 0; forest_.has_walks && r < count; ++r)
            load_row(request, begin + r, &scratch.rows[r * row_width()]);
        int64_t t = request.first;
        for (const Segment& segment : forest_.segments) {
            int64_t end = std::min(segment.last_tree, request.last);
            if (t >= end) continue;
            load_codes(request, begin, count, segment, scratch);
            for (; t < end; ++t) run_tree(t, begin, count, scratch, sink);
        }
    }

    template <class Sink>
    void run_tree(int64_t t, int64_t begin, int count, Scratch& scratch, const Sink& sink) const {
        const PackedTree& tree = forest_.trees[t];
        const Select *start = forest_.program.data() + tree.program_start, *end = start + tree.program_size;
        uint8_t* leaf = scratch.slots[byte_leaves].at;
        const uint32_t* sets = forest_.right_sets.data();
        if (tree.form == PackedTree::walk) {
            walk_block(t, begin, count, scratch, sink);
        } else {
            if (tree.form == PackedTree::levels)
                run_levels(start, end, scratch.codes.data(), scratch.categories.data(), sets, leaf);
            else
                run_selects(start, end, scratch.codes.data(), scratch.categories.data(), sets, scratch.slots.data());
            sink.take_block(t, leaf, begin, count);
        }
    }

    template <class Sink>
    void walk_block(int64_t t, int64_t begin, int count, Scratch& scratch, const Sink& sink) const {
        for (int r = 0; r < count; r += walkers) {
            int end = std::min(count, r + walkers);
            uint32_t at[walkers];
            const double* rows[walkers];
            std::fill_n(at, walkers, forest_.trees[t].root);
            for (int i = 0; i < walkers; ++i)
                rows[i] = &scratch.rows[std::min(r + i, end - 1) * 2 * forest_.used.size()];
            walk(at, rows);
            for (int i = r; i < end; ++i) sink.take(t, forest_.leaf_of[at[i - r]], begin + i);
        }
    }

    template <class Value>
    static void read(const RawColumn& column, int64_t begin, int count, Value* out) {
        for (int r = 0; r < count; ++r) out[r] = column.at<Value>(begin + r);
    }

    // Rows that are to be averaged are set aside; returns how many.
    template <class Sink>
    int load_categories(const Request& request, int64_t begin, int count, Scratch& scratch, const Sink& sink) const {
        std::array<bool, block_rows> averaged{};
        for (const UsedFeature& used : forest_.used) {
            if (!used.is_category) continue;
            int32_t* lane = scratch.categories[used.category_lane].at;
            read(request.columns[used.feature], begin, count, lane);
            for (int r = 0; r < count; ++r) {
                bool is_missing = lane[r] == missing_category;
                bool is_unknown = !is_missing && (lane[r] < 0 || lane[r] >= used.known_codes);
                averaged[r] |= is_unknown && request.unknown == Unknown::average;
                if (lane[r] < 0)
                    lane[r] = used.n_codes + !is_missing;
                else if (lane[r] >= used.n_codes)
                    lane[r] = used.n_codes + 2;
            }
        }
        int n = 0;
        for (int r = 0; r < count; ++r) {
            if (!averaged[r]) continue;
            scratch.averaged.push_back(begin + r);
            scratch.saved.resize(scratch.averaged.size() * forest_.n_outputs);
            sink.save(begin + r, scratch.saved.data() + scratch.saved.size() - forest_.n_outputs);
            ++n;
        }
        return n;
    }

    void load_codes(const Request& request, int64_t begin, int count, const Segment& segment, Scratch& scratch) const {
        Lane<float> narrow{};
        Lane<double> wide{};
        Lane<uint8_t>* codes = scratch.codes.data();
        for (const RankedFeature& ranked : segment.features) {
            const RawColumn& column = request.columns[forest_.used[ranked.used].feature];
            uint8_t *missing_left = codes++->at, *missing_right = codes++->at;
            if (column.type == ValueType::float32) {
                read(column, begin, count, narrow.at);
                rank_float32(narrow.at, &forest_.table32[ranked.table], ranked.n_coarse, ranked.fine, missing_left,
                             missing_right);
            } else {
                read(column, begin, count, wide.at);
                rank_float64(wide.at, &forest_.table64[ranked.table], ranked.n_coarse, ranked.fine, missing_left,
                             missing_right);
            }
        }
    }

    const CompiledForest& forest_;
    const std::optional<DeepForest>& deep_;
};

}  // namespace

Predictor::Predictor(const ForestView& forest, int threads) : forest_(forest, threads) {
    const bool all_walk = std::all_of(forest_.trees.begin(), forest_.trees.end(),
                                      [](const PackedTree& tree) { return tree.form == PackedTree::walk; });
    if (all_walk && forest_.n_category_lanes == 0 && forest_.projections.empty() && forest_.used.size() < most_lanes)
        deep_ = DeepForest::compile(forest_, threads);
}

void Predictor::fill_base(int64_t n_rows, double* out) const {
    for (int64_t row = 0; row < n_rows; ++row) out = std::copy(forest_.base.begin(), forest_.base.end(), out);
}

void Predictor::add(const RawColumn* columns, int64_t n_rows, int64_t first, int64_t last, Unknown unknown, int threads,
                    double* out) const {
    const Request request{columns, n_rows, first, last, unknown};
    const ForestRun trees(forest_, deep_);
    if (forest_.slopes.empty())
        trees.run(request, threads, RawSink{forest_, out});
    else
        trees.run(request, threads, LinearSink{{forest_, out}, columns});
}

void Predictor::apply(const RawColumn* columns, int64_t n_rows, int64_t first, int64_t last, Unknown unknown,
                      int threads, int32_t* out) const {
    ForestRun(forest_, deep_)
        .run({columns, n_rows, first, last, unknown}, threads, LeafSink{forest_, out, first, last - first});
}

}  // namespace arboretum
