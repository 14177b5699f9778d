#include "forest_growing.hpp"
#include "uplift.hpp"

namespace arboretum {

GrownForest grow_uplift(const ForestInputs& inputs, const TreeRange& range) {
    return inputs.target.treatment.n_arms == 2 ? grow_as<Arms<2>>(inputs, range) : grow_as<Arms<0>>(inputs, range);
}

}  // namespace arboretum
