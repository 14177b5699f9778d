// Grows the tree of all rows where the rows of one part are, by questions to all parts (orders.hpp). To the bit the tree
// that Grower grows from the rows of all parts together.
#pragma once

#include <functional>

#include "grow/gradient/orders.hpp"
#include "grow/gradient/part_grower.hpp"

namespace arboretum {

// ask: gives an order to every part, `part` included, and adds up their answers. tell: gives the last order to all.
// Features, parameters, seed and threads are those of `part`; what either function throws ends the tree.
void grow_in_parts(PartGrower& part, const std::function<Answer(const Bytes&)>& ask,
                   const std::function<void(const Bytes&)>& tell);

}  // namespace arboretum
