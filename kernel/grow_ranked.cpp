#include "forest_growing.hpp"
#include "log_rank.hpp"

namespace arboretum {

template GrownForest grow_with<Medians>(const ForestInputs&, const TreeRange&);
template GrownForest grow_with<LogRank>(const ForestInputs&, const TreeRange&);

}  // namespace arboretum
