// The growth loop of all trees. A recipe says what each step does:
//
//               gradient/tree_builder.hpp          impurity/branch.hpp              isolation.cpp
//   open        the root looks for its condition   the root looks for its cut       the root waits
//   next        the policy names a batch of nodes  the last node that was opened,   the last node that was opened
//                                                  or the one of largest gain       draws its cut
//   partition   rows to the children, which look   rows to the children, in place   rows to the children, in place
//               for their conditions
//   commit      the children get numbers           the children get numbers and     the children wait
//                                                  look for their cuts
//
// What differs between recipes is what a node inherits and when conditions are looked for: trees of gradients subtract
// histograms, and prepare nodes that may never be split; trees of impurity look at a few features and inherit nothing;
// isolation trees read raw values of a few hundred rows.
#pragma once

#include <concepts>

namespace arboretum {

template <class R>
concept Recipe = requires(R& recipe) {
    recipe.open();
    { recipe.next() } -> std::same_as<bool>;  // false: the tree is done
    recipe.partition();
    recipe.commit();
};

template <Recipe R>
void grow(R& recipe) {
    recipe.open();
    while (recipe.next()) {
        recipe.partition();
        recipe.commit();
    }
}

}  // namespace arboretum
