#include "grow/impurity/forest_growing.hpp"
#include "grow/impurity/uplift.hpp"

namespace arboretum {

template GrownForest grow_with<Arms<2>>(const ForestInputs&, const TreeRange&, bool);
template GrownForest grow_with<Arms<0>>(const ForestInputs&, const TreeRange&, bool);

}  // namespace arboretum
