#include "grow/gradient/orders.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace arboretum {

namespace {

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

ByteWriter order_of(OrderKind kind) {
    ByteWriter out;
    out.put(kind);
    return out;
}

void write_scale(const LaneScale& scale, ByteWriter& out) {
    out.put(static_cast<uint8_t>(scale.packed));
    out.put(static_cast<uint8_t>(scale.hessian_counts_rows));
    out.put(scale.gradient);
    out.put(scale.hessian);
    out.put(scale.hessian_step);
}

LaneScale read_scale(ByteReader& in) {
    LaneScale scale;
    scale.packed = in.get_flag();
    scale.hessian_counts_rows = in.get_flag();
    scale.gradient = in.get<double>();
    scale.hessian = in.get<double>();
    scale.hessian_step = in.get<int64_t>();
    require(scale.gradient > 0 && std::isfinite(scale.gradient) && scale.hessian > 0 && std::isfinite(scale.hessian),
            "an order holds a scale that is not positive and finite");
    return scale;
}

void write_condition(const Condition& condition, ByteWriter& out) {
    out.put(condition.kind);
    out.put(static_cast<uint8_t>(condition.missing_left));
    out.put(condition.feature);
    out.put(condition.threshold);
    out.put_list(condition.set);
}

int32_t read_feature(ByteReader& in, const BinnedData& data) {
    const auto feature = in.get<int32_t>();
    require(feature >= 0 && feature < data.n_features(), "an order names a feature that the table does not have");
    return feature;
}

ConditionKind read_condition_kind(ByteReader& in, bool may_be_leaf) {
    const auto kind = in.get<ConditionKind>();
    require(kind == ConditionKind::numeric || kind == ConditionKind::category ||
                (may_be_leaf && kind == ConditionKind::leaf),
            "an order holds a condition of an unknown kind");
    return kind;
}

Condition read_condition(ByteReader& in, const BinnedData& data) {
    Condition condition;
    condition.kind = read_condition_kind(in, false);
    condition.missing_left = in.get_flag();
    condition.feature = read_feature(in, data);
    condition.threshold = in.get<Code>();
    condition.set = in.get_list<uint32_t>();
    return condition;
}

void write_node(const GrownNode& node, ByteWriter& out) {
    out.put(node.kind);
    out.put(static_cast<uint8_t>(node.missing_left));
    out.put(node.n_rows);
    out.put(node.gain);
    out.put(node.left);
    out.put(node.right);
    out.put(node.feature);
    out.put(node.code);
    out.put(node.first_item);
    out.put(node.n_items);
}

constexpr size_t node_bytes = 2 + 8 + 8 + 4 + 4 + 4 + 4 + 8 + 4;

GrownNode read_node(ByteReader& in) {
    GrownNode node;
    node.kind = read_condition_kind(in, true);
    node.missing_left = in.get_flag();
    node.n_rows = in.get<int64_t>();
    node.gain = in.get<double>();
    node.left = in.get<int32_t>();
    node.right = in.get<int32_t>();
    node.feature = in.get<int32_t>();
    node.code = in.get<Code>();
    node.first_item = in.get<int64_t>();
    node.n_items = in.get<int32_t>();
    return node;
}

// Walks end at a leaf and read nothing outside the tree, and sums over leaves count each once.
void check_tree(const GrownTree& tree, const BinnedData& data) {
    const auto n = static_cast<int64_t>(tree.nodes.size()), n_words = static_cast<int64_t>(tree.set_words.size());
    require(n > 0, "an order holds a tree without nodes");
    std::vector<uint8_t> has_parent(n, 0);
    for (int64_t id = 0; id < n; ++id) {
        const GrownNode& node = tree.nodes[id];
        if (node.is_leaf()) continue;
        require(node.left > id && node.left < n && node.right > id && node.right < n,
                "an order holds a tree whose children do not come after their parents");
        require(!std::exchange(has_parent[node.left], 1) && !std::exchange(has_parent[node.right], 1),
                "an order holds a tree with a node of two parents");
        require(node.feature >= 0 && node.feature < data.n_features(),
                "an order names a feature that the table does not have");
        require(node.first_item >= 0 && node.n_items >= 0 && node.first_item <= n_words &&
                    node.n_items <= n_words - node.first_item,
                "an order holds a tree with a set outside its words");
    }
    require(std::count(has_parent.begin() + 1, has_parent.end(), 1) == n - 1,
            "an order holds a tree with a node that has no parent");
}

template <class Use>
void for_each_wanted(const BinnedData& data, const FeatureSelection& selection, Use&& use) {
    for (int32_t f = 0; f < data.n_features(); ++f)
        if (selection.wanted[f]) use(data.feature(f));
}

}  // namespace

Bytes write_measure_order(const LaneUnits& units) {
    ByteWriter out = order_of(OrderKind::measure);
    out.put(units.gradient);
    out.put(units.hessian);
    return out.take();
}

LaneUnits read_measure_order(ByteReader& in) {
    LaneUnits units;
    units.gradient = in.get<double>();
    units.hessian = in.get<double>();
    in.require_done();
    return units;
}

Bytes write_open_order(const OpenOrder& order) {
    ByteWriter out = order_of(OrderKind::open);
    write_scale(order.scale, out);
    write_scale(order.wide, out);
    return out.take();
}

OpenOrder read_open_order(ByteReader& in) {
    OpenOrder order;
    order.scale = read_scale(in);
    order.wide = read_scale(in);
    require(!order.wide.packed, "an order holds a narrow scale of leaf sums");
    in.require_done();
    return order;
}

Bytes write_batch_order(std::span<const RowRequest> requests) {
    ByteWriter out = order_of(OrderKind::batch);
    out.put(static_cast<uint64_t>(requests.size()));
    for (const RowRequest& request : requests) {
        out.put(request.kind);
        out.put(request.rows->part_node);
        if (request.kind == RowRequest::Kind::count) out.put(request.feature);
        if (request.kind != RowRequest::Kind::partition) continue;
        write_condition(request.condition, out);
        out.put(request.summed);
        out.put(static_cast<uint8_t>(request.count_right));
    }
    return out.take();
}

std::vector<PartRequest> read_batch_order(ByteReader& in, const BinnedData& data) {
    const uint64_t n = in.get_count(sizeof(RowRequest::Kind) + sizeof(int32_t));
    std::vector<PartRequest> requests;
    for (uint64_t i = 0; i < n; ++i) {
        RowRequest request{in.get<RowRequest::Kind>(), nullptr};
        require(request.kind <= RowRequest::Kind::send, "an order holds a request of an unknown kind");
        const auto part_node = in.get<int32_t>();
        if (request.kind == RowRequest::Kind::count) request.feature = read_feature(in, data);
        if (request.kind == RowRequest::Kind::partition) {
            request.condition = read_condition(in, data);
            request.feature = request.condition.feature;
            request.summed = in.get<RowRequest::Child>();
            require(request.summed <= RowRequest::none, "an order names an unknown child");
            request.count_right = in.get_flag();
        }
        requests.push_back({std::move(request), part_node});
    }
    in.require_done();
    return requests;
}

Bytes write_finish_order(const FinishOrder& order) {
    ByteWriter out = order_of(OrderKind::finish);
    out.put(static_cast<uint64_t>(order.tree.nodes.size()));
    for (const GrownNode& node : order.tree.nodes) write_node(node, out);
    out.put_list(order.tree.set_words);
    out.put_list(order.known);
    return out.take();
}

FinishOrder read_finish_order(ByteReader& in, const BinnedData& data) {
    FinishOrder order;
    const uint64_t n = in.get_count(node_bytes);
    for (uint64_t id = 0; id < n; ++id) order.tree.nodes.push_back(read_node(in));
    order.tree.set_words = in.get_list<uint32_t>();
    order.known = in.get_list<KnownNode>();
    in.require_done();
    check_tree(order.tree, data);
    return order;
}

Bytes write_done_order(const std::vector<uint64_t>& sums) {
    ByteWriter out = order_of(OrderKind::done);
    out.put_list(sums);
    return out.take();
}

std::vector<uint64_t> read_done_order(ByteReader& in) {
    std::vector<uint64_t> sums = in.get_list<uint64_t>();
    in.require_done();
    return sums;
}

OrderKind read_kind(ByteReader& in) {
    const auto kind = in.get<OrderKind>();
    require(kind <= OrderKind::done, "an order of an unknown kind");
    return kind;
}

void write_measure(const PartMeasure& measure, ByteWriter& out) {
    const LaneFacts& facts = measure.lanes.facts;
    out.put(measure.seed);
    out.put(measure.n_bins);
    out.put(measure.n_all_rows);
    out.put(measure.real_bytes);
    for (double fact :
         {facts.max_gradient, facts.max_hessian, facts.min_hessian, facts.hessian_fraction, facts.spoiled})
        out.put(fact);
    out.put(facts.n_rows);
    out.put(measure.lanes.totals);
    out.put_list(measure.median.gradients);
    out.put_list(measure.median.hessians);
}

PartMeasure read_measure(ByteReader& in) {
    PartMeasure measure{};
    LaneFacts& facts = measure.lanes.facts;
    measure.seed = in.get<uint64_t>();
    measure.n_bins = in.get<int64_t>();
    measure.n_all_rows = in.get<int64_t>();
    measure.real_bytes = in.get<uint8_t>();
    for (double LaneFacts::* fact : {&LaneFacts::max_gradient, &LaneFacts::max_hessian, &LaneFacts::min_hessian,
                                     &LaneFacts::hessian_fraction, &LaneFacts::spoiled})
        facts.*fact = in.get<double>();
    facts.n_rows = in.get<int64_t>();
    measure.lanes.totals = in.get<LaneTotals>();
    measure.median.gradients = in.get_list<double>();
    measure.median.hessians = in.get_list<double>();
    return measure;
}

int64_t histogram_words(const BinnedData& data, const FeatureSelection& selection, int64_t sum_bytes) {
    int64_t sums = 0;
    for_each_wanted(data, selection, [&](const FeatureCodes& info) { sums += static_cast<int64_t>(info.n_bins) + 1; });
    return sums * sum_bytes / 8;
}

int64_t answer_words(const RowRequest& request, const BinnedData& data, int64_t histogram) {
    switch (request.kind) {
        case RowRequest::Kind::count: return static_cast<int64_t>(data.feature(request.feature).n_bins) + 1;
        case RowRequest::Kind::build: return histogram;
        case RowRequest::Kind::send: return 0;
        default: break;
    }
    const FeatureCodes& info = data.feature(request.feature);
    return 1 + (request.count_right ? static_cast<int64_t>(info.n_bins - first_counted(info)) + 1 : 0) +
           (request.summed != RowRequest::none ? histogram : 0);
}

int64_t sent_row_bytes(const BinnedData& data, const FeatureSelection& selection, int64_t stat_bytes) {
    int64_t bytes = stat_bytes;
    for_each_wanted(data, selection, [&](const FeatureCodes& info) { bytes += info.width; });
    return bytes;
}

void copy_histogram(const BinnedData& data, const FeatureSelection& selection, int64_t sum_bytes,
                    const TreeRows::Bins* bins, uint64_t* words) {
    for_each_wanted(data, selection, [&](const FeatureCodes& info) {
        const int64_t bytes = (static_cast<int64_t>(info.n_bins) + 1) * sum_bytes;
        std::memcpy(words, bins + info.first_bin * sum_bytes, bytes);
        words += bytes / 8;
    });
}

void copy_histogram(const BinnedData& data, const FeatureSelection& selection, int64_t sum_bytes, const uint64_t* words,
                    TreeRows::Bins* bins) {
    std::memset(bins, 0, data.n_total_bins() * sum_bytes);  // bins of other features of its blocks are subtracted too
    for_each_wanted(data, selection, [&](const FeatureCodes& info) {
        const int64_t bytes = (static_cast<int64_t>(info.n_bins) + 1) * sum_bytes;
        std::memcpy(bins + info.first_bin * sum_bytes, words, bytes);
        words += bytes / 8;
    });
}

}  // namespace arboretum
