#include "grow/impurity/forest_growing.hpp"
#include "grow/impurity/log_rank.hpp"

namespace arboretum {

template GrownForest grow_with<Medians>(const ForestInputs&, const TreeRange&, bool);
template GrownForest grow_with<LogRank>(const ForestInputs&, const TreeRange&, bool);

}  // namespace arboretum
