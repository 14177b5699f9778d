#include "forest_growing.hpp"

namespace arboretum {

GrownForest grow_binary(const ForestInputs& inputs, const TreeRange& range) {
    const bool packed = inputs.target.is_packable;
    if (inputs.target.criterion == Criterion::entropy)
        return packed ? grow_as<PackedBinary<Criterion::entropy>>(inputs, range)
                      : grow_as<Moments<Criterion::entropy>>(inputs, range);
    return packed ? grow_as<PackedBinary<Criterion::gini>>(inputs, range)
                  : grow_as<Moments<Criterion::gini>>(inputs, range);
}

}  // namespace arboretum
