#include "forest_growing.hpp"

namespace arboretum {

GrownForest grow_lanes(const ForestInputs& inputs, const TreeRange& range) { return grow_as<Lanes>(inputs, range); }

}  // namespace arboretum
