// One of several parts that the rows of a tree lie in: answers orders about its own rows (orders.hpp), and ends up with
// the tree of all rows and the leaves of its own.
//
//   load ──► measure ──► open ──► batch ──► … ──► finish ──► done
//            may be repeated      may be repeated
//
// An order that does not fit throws and changes nothing that matters: `load` starts over at any time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.hpp"
#include "base/per_thread.hpp"
#include "data/binned_data.hpp"
#include "grow/gradient/feature_selection.hpp"
#include "grow/gradient/orders.hpp"
#include "grow/gradient/row_leaves.hpp"
#include "grow/gradient/tree_rows.hpp"
#include "grow/gradient/tree_sample.hpp"
#include "grow/gradient/workspace.hpp"

namespace arboretum {

class PartGrower {
  public:
    // first_row: number of the first row of the part among the n_all_rows rows of all parts.
    PartGrower(const BinnedData& data, int64_t first_row, int64_t n_all_rows, int threads);

    PartGrower(const PartGrower&) = delete;
    PartGrower& operator=(const PartGrower&) = delete;

    // Copies what the next tree is grown from. gradients and hessians: of all rows of the part. rows: numbers within the
    // part of a sample, perhaps of none; or of all rows, if not given. The rest is as for Grower::grow.
    template <class Real>
    void load(std::span<const Real> gradients, std::span<const Real> hessians, std::optional<std::span<const Row>> rows,
              const double* factor, const TreeParams& params, uint64_t seed);

    Answer answer(std::span<const std::byte> order);

    bool finished() const { return stage_ == Stage::finished; }

    const GrownTree& tree() const;

    RowLeaves& leaves() { return leaves_; }
    const RowLeaves& leaves() const { return leaves_; }

    const BinnedData& data() const { return data_; }
    const TreeParams& params() const { return params_; }
    uint64_t seed() const { return seed_; }
    int threads() const { return threads_; }
    int64_t n_all_rows() const { return n_all_rows_; }
    bool is_float() const { return real_bytes_ == sizeof(float); }
    bool loaded() const { return stage_ != Stage::empty; }

    // For the part where trees are grown: units of its last tree, and memory.
    LaneUnits& lane_units() { return lane_units_; }
    Workspace& store_space() { return store_space_; }

  private:
    enum class Stage { empty, loaded, measured, growing, found, finished };

    // A node as parts know it. Rows of a node stay where they are only until its grandchildren take their place.
    struct Node {
        RowRange rows;
        int32_t children = -1;  // the left one; the right one follows
    };

    // Numbers of a sample's rows, not null even if there are none; null for all rows.
    const Row* rows() const { return row_numbers_.empty() ? nullptr : row_numbers_.data(); }

    // use(sample), of the type that was loaded.
    template <class Use>
    auto with_sample(Use&& use) const {
        if (is_float())
            return use(TreeSample<float>{statistics_[0].get<float>(), statistics_[1].get<float>(), rows(), n_rows_});
        return use(TreeSample<double>{statistics_[0].get<double>(), statistics_[1].get<double>(), rows(), n_rows_});
    }

    Answer measure(const LaneUnits& units);
    Answer open(const OpenOrder& order);
    Answer answer_batch(const std::vector<PartRequest>& requests);
    Answer finish(FinishOrder order);
    void complete(const std::vector<uint64_t>& sums);

    template <class Layout, class Real>
    WideSum fill(const TreeSample<Real>& sample);

    // Whether sums of the part's rows fit wide lanes.
    void require_room(const LaneScale& wide) const;

    const Node& unsplit_node(int32_t part_node) const;
    void answer_request(const PartRequest& request, int32_t children, uint64_t* words, int worker, int threads);
    void partition(const RowRequest& request, Node& node, uint64_t* words, int worker, int threads);
    void put_histogram(const RowRange& rows, uint64_t* words, int worker, int threads);
    void put_rows(uint32_t request, const RowRange& rows, ByteWriter& out) const;
    std::vector<RowLeaves::Group> groups_of(const std::vector<KnownNode>& known) const;

    const BinnedData& data_;
    int64_t n_all_rows_;
    int threads_;
    std::vector<Row> median_rows_;  // those of all rows that lie in this part, by their numbers within it
    LaneUnits lane_units_;
    Workspace space_, store_space_;
    RowLeaves leaves_;

    // ---- the tree ------------------------------------------------------------------------------------------------

    Stage stage_ = Stage::empty;
    TreeParams params_;
    uint64_t seed_ = 0;
    std::array<Buffer, 2> statistics_;  // gradients and hessians
    std::vector<Row> row_numbers_;      // of a sample, then one more; empty for all rows
    int64_t n_rows_ = 0;
    int real_bytes_ = 0;
    LaneFacts facts_;
    LaneScale scale_, wide_;
    FeatureSelection selection_;
    std::unique_ptr<TreeRows> rows_;
    int64_t histogram_words_ = 0;
    std::vector<Node> nodes_;
    PerThread<std::unique_ptr<std::byte[]>> histograms_;
    PerThread<std::vector<uint8_t>> left_tables_;
    GrownTree tree_;
};

}  // namespace arboretum
