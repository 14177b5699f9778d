#include "forest_growing.hpp"

namespace arboretum {

GrownForest grow_numbers(const ForestInputs& inputs, const TreeRange& range) {
    switch (inputs.target.criterion) {
        case Criterion::poisson: return grow_as<Moments<Criterion::poisson>>(inputs, range);
        case Criterion::absolute_error: return grow_with<Medians, Columns<Medians::Stat>>(inputs, range);
        default: return grow_as<Moments<Criterion::squared_error>>(inputs, range);
    }
}

}  // namespace arboretum
