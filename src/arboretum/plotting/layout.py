"""Where the nodes of a tree go on paper, in linear time; binary trees by Reingold & Tilford (1981)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_SIGN = (-1, 1)  # of shifts to the left and to the right


class _Contours:
    r"""Subtrees already laid out, each from its own root; the outline of a subtree can be walked downwards.

    A leaf where the outline goes on in a neighbouring, deeper subtree has a *thread* to the next node::

            o              The right outline of the left subtree is  b d f:
          /   \            d has no children, its thread leads to f.
         b     c
        / \
       e   d
      / \  :
     g   f··
    """

    def __init__(self, *children: Sequence[int]) -> None:
        n = len(children[0])
        self.children = children  # left ones, and right ones
        self.half = [0.0] * n  # of the distance between the children
        self.thread = [(-1, 0.0)] * n  # where the outline goes on, and how far aside that is
        # Outermost nodes of the lowest level, on the left and on the right, and how far they are from the root.
        self.lowest = [[(node, 0.0) for node in range(n)] for _ in children]

    def below(self, side: int, node: int, x: float) -> tuple[int, float]:
        """Go one level down the left (0) or right (1) outline; −1 at its end."""
        child = self.children[side][node]
        found, shift = self.thread[node] if child < 0 else (child, self.half[node] * _SIGN[side])
        return found, x + shift

    def join(self, node: int) -> None:
        """Push the two subtrees of a node together until they are 1 apart."""
        a, b = (children[node] for children in self.children)
        distance, inner_a, inner_b = 1.0, (a, 0.0), (b, 0.0)
        while True:
            inner_a, inner_b = self.below(1, *inner_a), self.below(0, *inner_b)
            if inner_a[0] < 0 or inner_b[0] < 0:
                break
            distance = max(distance, inner_a[1] - inner_b[1] + 1.0)
        half = self.half[node] = distance / 2
        outer_a, outer_b = a, b  # subtrees that the lowest nodes on either side are of
        if inner_a[0] >= 0:  # the left subtree is deeper
            self._tie(self.lowest[1][b], half, inner_a)
            outer_b = a
        elif inner_b[0] >= 0:
            self._tie(self.lowest[0][a], -half, inner_b)
            outer_a = b
        for side, subtree in enumerate((outer_a, outer_b)):
            lowest, x = self.lowest[side][subtree]
            self.lowest[side][node] = lowest, x + half * _SIGN[subtree == b]

    def _tie(self, end: tuple[int, float], shift: float, onward: tuple[int, float]) -> None:
        """Let the outline that ends at a lowest node go on in the other subtree, which is shifted the other way."""
        (node, x), (below, below_x) = end, onward
        self.thread[node] = below, (below_x - shift) - (x + shift)


def tidy_positions(left: Sequence[int], right: Sequence[int]) -> NDArray[np.float64]:
    """Place nodes side by side: 1 apart or more within a level, parents in the middle of their children.

    Equal subtrees look equal wherever they are, and a mirrored tree is drawn mirrored.

    Parameters
    ----------
    left, right : sequence of int
        Children of each node, which come after it; −1, both, at a leaf.

    Returns
    -------
    float64 array (nodes)
        Positions from 0 on.

    Examples
    --------
    >>> tidy_positions([1, -1, 3, -1, -1], [2, -1, 4, -1, -1])
    array([0.5, 0. , 1. , 0.5, 1.5])
    """
    contours = _Contours(left, right)
    inner = [node for node in range(len(left)) if left[node] >= 0]
    for node in reversed(inner):
        contours.join(node)
    x = np.zeros(len(left))
    for node in inner:
        x[left[node]] = x[node] - contours.half[node]
        x[right[node]] = x[node] + contours.half[node]
    x -= x.min()
    return x


def slot_positions(children: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Place nodes of any number of children: leaves 1 apart in their order, parents in the middle of their children.

    ``children`` lists those of each node, which come after it. Positions start at 0, as of :func:`tidy_positions`.

    Examples
    --------
    >>> slot_positions([[1, 2, 3], [], [4, 5], [], [], []])
    array([1.5, 0. , 1.5, 3. , 1. , 2. ])
    """
    x, slots = np.zeros(len(children)), 0
    stack = [0]
    while stack:
        node = stack.pop()
        stack += reversed(children[node])
        if not children[node]:
            x[node], slots = slots, slots + 1
    for node in reversed(range(len(children))):
        if children[node]:
            x[node] = (x[children[node][0]] + x[children[node][-1]]) / 2
    return x
