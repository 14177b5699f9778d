#include "grow/gradient/grow_in_parts.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include "grow/gradient/parted_rows.hpp"
#include "grow/gradient/tree_builder.hpp"

namespace arboretum {

namespace {

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

struct AllParts {
    LaneMeasure lanes;
    MedianValues median;
};

AllParts measure_parts(const PartGrower& part, const AskParts& ask, const LaneUnits& units) {
    const Answer answer = ask(write_measure_order(units));
    AllParts all;
    ByteReader in(answer.rows);
    while (!in.done()) {
        const PartMeasure measure = read_measure(in);
        require(measure.seed == part.seed(), "parts were loaded with different seeds");
        require(measure.n_bins == part.data().n_total_bins(), "parts have different features or bins");
        require(measure.n_all_rows == part.n_all_rows(), "parts differ in the number of all rows");
        require((measure.real_bytes == sizeof(float)) == part.is_float(), "parts have gradients of different types");
        all.lanes.join(measure.lanes);
        auto append = [](std::vector<double>& to, const std::vector<double>& from) {
            to.insert(to.end(), from.begin(), from.end());
        };
        append(all.median.gradients, measure.median.gradients);
        append(all.median.hessians, measure.median.hessians);
    }
    return all;
}

// The facts that lane_facts finds from all rows together.
LaneFacts facts_of_parts(PartGrower& part, const AskParts& ask) {
    LaneUnits& units = part.lane_units();
    AllParts all = measure_parts(part, ask, units);
    if (const LaneUnits right = units_of(all.lanes.facts); right != units) {
        units = right;
        all = measure_parts(part, ask, units);
    }
    return complete_facts(all.lanes, units, std::move(all.median));
}

template <class Layout>
FinishOrder grow_as(PartGrower& part, const AskParts& ask, const OpenOrder& order, int64_t n_rows) {
    const BinnedData& data = part.data();
    const FeatureSelection selection = select_tree_features(data, part.params(), part.seed());
    RowStore store(data);
    Workspace& space = part.store_space();
    PartedRows<Layout> rows(store, order.scale, selection, part.threads(), space, ask);
    const WideSum total = rows.open(order);
    TreeBuilder builder(data, order.scale, part.params(), selection, part.seed(), part.threads(), space, rows);
    GrownTree tree = builder.grow_from({RowRange::elsewhere, 0, n_rows, 0}, total);
    std::vector<KnownNode> known;
    for (const auto& [part_node, tree_node] : builder.part_nodes(tree)) known.push_back({part_node, tree_node});
    return {std::move(tree), std::move(known)};
}

}  // namespace

void grow_in_parts(PartGrower& part, const AskParts& ask, const std::function<void(const Bytes&)>& tell) {
    require(part.loaded(), "nothing was loaded to grow a tree from");
    const LaneFacts facts = facts_of_parts(part, ask);
    const LaneScale scale = part.is_float() ? choose_scale(facts, float{}) : choose_scale(facts, double{});
    const OpenOrder order{scale, wide_scale(facts)};
    const FinishOrder grown = !scale.packed     ? grow_as<Wide>(part, ask, order, facts.n_rows)
                              : part.is_float() ? grow_as<Short>(part, ask, order, facts.n_rows)
                                                : grow_as<Packed>(part, ask, order, facts.n_rows);
    const Answer sums = ask(write_finish_order(grown));
    require(sums.sums.size() == 2 * grown.tree.nodes.size(), "parts answer with sums of another tree");
    tell(write_done_order(sums.sums));
}

}  // namespace arboretum
