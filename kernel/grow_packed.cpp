#include "forest_growing.hpp"

namespace arboretum {

GrownForest grow_packed(const ForestInputs& inputs, const TreeRange& range) {
    return inputs.target.criterion == Criterion::entropy ? grow_as<PackedBinary<Criterion::entropy>>(inputs, range)
                                                         : grow_as<PackedBinary<Criterion::gini>>(inputs, range);
}

}  // namespace arboretum
