#include "forest_growing.hpp"
#include "log_rank.hpp"

namespace arboretum {

GrownForest grow_survival(const ForestInputs& inputs, const TreeRange& range) {
    return grow_with<LogRank, Columns<LogRank::Stat>>(inputs, range);
}

}  // namespace arboretum
