#include "forest_growing.hpp"

namespace arboretum {

GrownForest grow_weighted(const ForestInputs& inputs, const TreeRange& range) {
    return inputs.target.criterion == Criterion::entropy ? grow_as<Moments<Criterion::entropy>>(inputs, range)
                                                         : grow_as<Moments<Criterion::gini>>(inputs, range);
}

}  // namespace arboretum
