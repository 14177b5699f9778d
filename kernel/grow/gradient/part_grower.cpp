#include "grow/gradient/part_grower.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/parallel.hpp"
#include "grow/gradient/tree_builder.hpp"
#include "grow/gradient/tree_rows_as.hpp"
#include "grow/left_table.hpp"

namespace arboretum {

namespace {

constexpr int64_t large_node = int64_t{1} << 19;  // rows × features from which threads share a node

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

std::vector<Row> rows_between(const std::vector<Row>& rows, int64_t first, int64_t n) {
    std::vector<Row> own;
    for (Row row : rows)
        if (row >= first && row < first + n) own.push_back(static_cast<Row>(row - first));
    return own;
}

}  // namespace

PartGrower::PartGrower(const BinnedData& data, int64_t first_row, int64_t n_all_rows, int threads)
    : data_(data),
      n_all_rows_(n_all_rows),
      threads_(std::clamp(threads, 1, max_threads)),
      leaves_(data, threads_),
      histograms_(threads_),
      left_tables_(threads_) {
    require(data.n_bundles() == 0, "bundled columns cannot be divided into parts");
    require(first_row >= 0 && first_row <= n_all_rows && data.n_rows() <= n_all_rows - first_row,
            "the rows of the part are not among all rows");
    median_rows_ = rows_between(median_rows(n_all_rows), first_row, data.n_rows());
}

template <class Real>
void PartGrower::load(std::span<const Real> gradients, std::span<const Real> hessians,
                      std::optional<std::span<const Row>> rows, const double* factor, const TreeParams& params,
                      uint64_t seed) {
    const auto n_all = static_cast<size_t>(data_.n_rows());
    require(gradients.size() == n_all && hessians.size() == n_all, "expected one gradient and hessian per row");
    stage_ = Stage::empty;
    n_rows_ = static_cast<int64_t>(rows ? rows->size() : n_all);
    row_numbers_.clear();
    if (rows) {
        row_numbers_.assign(rows->begin(), rows->end());
        row_numbers_.push_back(0);
    }
    real_bytes_ = sizeof(Real);
    params_ = params;
    seed_ = seed;
    selection_ = select_tree_features(data_, params, seed);
    gather_sample(gradients.data(), hessians.data(), this->rows(), factor, n_rows_, threads_, statistics_);
    stage_ = Stage::loaded;
}

template void PartGrower::load(std::span<const float>, std::span<const float>, std::optional<std::span<const Row>>,
                               const double*, const TreeParams&, uint64_t);
template void PartGrower::load(std::span<const double>, std::span<const double>, std::optional<std::span<const Row>>,
                               const double*, const TreeParams&, uint64_t);

const GrownTree& PartGrower::tree() const {
    require(finished(), "the tree is not finished");
    return tree_;
}

Answer PartGrower::answer(std::span<const std::byte> order) {
    auto expect = [&](std::initializer_list<Stage> stages) {
        require(std::find(stages.begin(), stages.end(), stage_) != stages.end(), "an order out of sequence");
    };
    ByteReader in(order);
    switch (read_kind(in)) {
        case OrderKind::measure: expect({Stage::loaded, Stage::measured}); return measure(read_measure_order(in));
        case OrderKind::open: expect({Stage::measured}); return open(read_open_order(in));
        case OrderKind::batch: expect({Stage::growing}); return answer_batch(read_batch_order(in, data_));
        case OrderKind::finish: expect({Stage::growing}); return finish(read_finish_order(in, data_));
        default: break;
    }
    expect({Stage::found});
    complete(read_done_order(in));
    return {};
}

Answer PartGrower::measure(const LaneUnits& units) {
    PartMeasure measure{seed_, data_.n_total_bins(), n_all_rows_, static_cast<uint8_t>(real_bytes_), {}, {}};
    with_sample([&](const auto& sample) {
        measure.lanes = measure_lanes(sample, units, threads_);
        measure.median = median_values(sample, median_rows_);
    });
    facts_ = measure.lanes.facts;
    ByteWriter out;
    write_measure(measure, out);
    stage_ = Stage::measured;
    return {{}, out.take()};
}

void PartGrower::require_room(const LaneScale& wide) const {
    constexpr double room = 0x1p62;
    const double n = static_cast<double>(n_rows_);
    require(facts_.max_gradient * wide.gradient * n <= room && facts_.max_hessian * wide.hessian * n <= room,
            "an order holds a scale at which sums overflow");
}

template <class Layout, class Real>
WideSum PartGrower::fill(const TreeSample<Real>& sample) {
    auto rows = std::make_unique<TreeRowsAs<Layout>>(data_, scale_, selection_, threads_, space_);
    const WideSum total = rows->fill(sample);
    rows_ = std::move(rows);
    return total;
}

Answer PartGrower::open(const OpenOrder& order) {
    require_room(order.wide);
    if (!order.scale.packed) require_room(order.scale);
    scale_ = order.scale;
    wide_ = order.wide;
    const WideSum total = with_sample([&]<class Real>(const TreeSample<Real>& sample) {
        return scale_.packed ? fill<NarrowLayout<Real>>(sample) : fill<Wide>(sample);
    });
    for (auto& histogram : histograms_) histogram.reset();
    histogram_words_ = histogram_words(data_, selection_, rows_->sum_bytes());
    nodes_.assign(1, Node{{.end = n_rows_}});
    Answer answer;
    answer.sums.resize(2 + histogram_words_);
    answer.sums[0] = static_cast<uint64_t>(total.gradient);
    answer.sums[1] = static_cast<uint64_t>(total.hessian);
    put_histogram(nodes_[0].rows, answer.sums.data() + 2, 0, threads_);
    stage_ = Stage::growing;
    return answer;
}

const PartGrower::Node& PartGrower::unsplit_node(int32_t part_node) const {
    require(part_node >= 0 && part_node < static_cast<int64_t>(nodes_.size()), "an order names an unknown node");
    require(nodes_[part_node].children < 0, "an order names a node whose rows have moved on");
    return nodes_[part_node];
}

Answer PartGrower::answer_batch(const std::vector<PartRequest>& requests) {
    std::vector<int64_t> first_word{0};
    std::vector<int32_t> children;
    const size_t n_known = nodes_.size();
    size_t n_nodes = n_known;
    std::vector<uint8_t> moves(n_known, 0);
    for (const PartRequest& item : requests) {
        unsplit_node(item.part_node);
        first_word.push_back(first_word.back() + answer_words(item.request, data_, histogram_words_));
        children.push_back(static_cast<int32_t>(n_nodes));
        if (item.request.kind != RowRequest::Kind::partition) continue;
        require(!std::exchange(moves[item.part_node], 1), "an order partitions a node twice");
        n_nodes += 2;
    }
    nodes_.resize(n_nodes);
    Answer answer;
    answer.sums.resize(first_word.back());
    std::vector<size_t> small;
    for (size_t i = 0; i < requests.size(); ++i) {
        if (nodes_[requests[i].part_node].rows.size() * data_.n_features() >= large_node)
            answer_request(requests[i], children[i], answer.sums.data() + first_word[i], 0, threads_);
        else
            small.push_back(i);
    }
    parallel_for(static_cast<int64_t>(small.size()), threads_, [&](int64_t k, int worker) {
        const size_t i = small[k];
        answer_request(requests[i], children[i], answer.sums.data() + first_word[i], worker, 1);
    });
    ByteWriter rows;
    for (size_t i = 0; i < requests.size(); ++i)
        if (requests[i].request.kind == RowRequest::Kind::send)
            put_rows(static_cast<uint32_t>(i), nodes_[requests[i].part_node].rows, rows);
    answer.rows = rows.take();
    return answer;
}

void PartGrower::answer_request(const PartRequest& item, int32_t children, uint64_t* words, int worker, int threads) {
    Node& node = nodes_[item.part_node];
    switch (item.request.kind) {
        case RowRequest::Kind::partition:
            node.children = children;
            partition(item.request, node, words, worker, threads);
            break;
        case RowRequest::Kind::count:
            rows_->count(node.rows, item.request.feature, 0, reinterpret_cast<int64_t*>(words));
            break;
        case RowRequest::Kind::build: put_histogram(node.rows, words, worker, threads); break;
        case RowRequest::Kind::send: break;
    }
}

void PartGrower::partition(const RowRequest& request, Node& node, uint64_t* words, int worker, int threads) {
    const FeatureCodes& info = data_.feature(request.feature);
    fill_left_table(request.condition, info.n_bins, left_tables_[worker]);
    const std::array<RowRange, 2> sides = rows_->partition(request.feature, left_tables_[worker], node.rows, threads);
    for (int side : {0, 1}) nodes_[node.children + side].rows = sides[side];
    *words++ = static_cast<uint64_t>(sides[0].size());
    if (request.count_right) {
        const Code first = first_counted(info);
        rows_->count(sides[1], request.feature, first, reinterpret_cast<int64_t*>(words));
        words += static_cast<int64_t>(info.n_bins - first) + 1;
    }
    if (request.summed != RowRequest::none) put_histogram(sides[request.summed], words, worker, threads);
}

void PartGrower::put_histogram(const RowRange& rows, uint64_t* words, int worker, int threads) {
    std::unique_ptr<std::byte[]>& bins = histograms_[worker];
    if (bins == nullptr) bins = std::make_unique_for_overwrite<std::byte[]>(rows_->histogram_bytes());
    rows_->build(rows, bins.get(), static_cast<int32_t>(data_.blocks().size()), threads);
    copy_histogram(data_, selection_, rows_->sum_bytes(), bins.get(), words);
}

void PartGrower::put_rows(uint32_t request, const RowRange& rows, ByteWriter& out) const {
    out.put(request);
    out.put(static_cast<uint64_t>(rows.size()));
    rows_->copy_stats(rows, out.extend(rows.size() * rows_->stat_bytes()));
    const RowNumbers numbers = rows_->numbers(rows);
    for (int32_t f = 0; f < data_.n_features(); ++f) {
        if (!selection_.wanted[f]) continue;
        data_.with_column(f, [&](const auto* column) {
            std::byte* codes = out.extend(rows.size() * sizeof *column);
            for (int64_t i = 0; i < rows.size(); ++i)
                std::memcpy(codes + i * sizeof *column, column + numbers[i], sizeof *column);
        });
    }
}

std::vector<RowLeaves::Group> PartGrower::groups_of(const std::vector<KnownNode>& known) const {
    std::vector<RowLeaves::Group> groups;
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (const KnownNode& item : known) {
        const Node& node = unsplit_node(item.part_node);
        groups.push_back({rows_->numbers(node.rows), item.tree_node});
        if (node.rows.size() > 0) ranges.emplace_back(node.rows.begin, node.rows.end);
    }
    std::sort(ranges.begin(), ranges.end());
    int64_t end = 0;
    for (const auto& [first, last] : ranges) require(first == std::exchange(end, last), "an order misses rows");
    require(end == n_rows_, "an order misses rows");
    return groups;
}

Answer PartGrower::finish(FinishOrder order) {
    for (const KnownNode& item : order.known)
        require(item.tree_node < order.tree.nodes.size(), "an order names an unknown node of the tree");
    const std::vector<RowLeaves::Group> groups = groups_of(order.known);
    tree_ = std::move(order.tree);
    tree_.packed = scale_.packed;
    leaves_.find(tree_, rows(), n_rows_, groups);
    const std::vector<WideSum> sums =
        with_sample([&](const auto& sample) { return leaves_.sum(sample, wide_, tree_.nodes.size()); });
    Answer answer;
    for (const WideSum& sum : sums) {
        answer.sums.push_back(static_cast<uint64_t>(sum.gradient));
        answer.sums.push_back(static_cast<uint64_t>(sum.hessian));
    }
    stage_ = Stage::found;
    return answer;
}

void PartGrower::complete(const std::vector<uint64_t>& sums) {
    require(sums.size() == 2 * tree_.nodes.size(), "an order holds sums of another tree");
    std::vector<WideSum> of_leaves(tree_.nodes.size());
    double size = 0;
    for (size_t id = 0; id < of_leaves.size(); ++id) {
        of_leaves[id] = {static_cast<int64_t>(sums[2 * id]), static_cast<int64_t>(sums[2 * id + 1])};
        for (int64_t sum : {of_leaves[id].gradient, of_leaves[id].hessian}) size += std::abs(static_cast<double>(sum));
    }
    require(size < 0x1p63, "an order holds sums that overflow");
    put_node_sums(std::move(of_leaves), wide_, params_, tree_);
    stage_ = Stage::finished;
}

}  // namespace arboretum
