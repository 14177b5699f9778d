#include "grow/impurity/forest_growing.hpp"

namespace arboretum {

template GrownForest grow_with<CountedMoments>(const ForestInputs&, const TreeRange&, bool);

}  // namespace arboretum
