"""Where the nodes of a tree go on paper, in linear time; of a binary one by Reingold & Tilford (1981)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


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

    def __init__(self, left: Sequence[int], right: Sequence[int]) -> None:
        n = len(left)
        self.left, self.right = left, right
        self.half = [0.0] * n  # of the distance between the children
        self.thread = [-1] * n
        self.thread_shift = [0.0] * n
        self.lowest_left = list(range(n))  # outermost nodes of the lowest level, and how far they are from the root
        self.lowest_right = list(range(n))
        self.lowest_left_x = [0.0] * n
        self.lowest_right_x = [0.0] * n

    def next_left(self, node: int, x: float) -> tuple[int, float]:
        """Go one level down the left outline; −1 at its end."""
        if self.left[node] >= 0:
            return self.left[node], x - self.half[node]
        return self.thread[node], x + self.thread_shift[node]

    def next_right(self, node: int, x: float) -> tuple[int, float]:
        """Go one level down the right outline; −1 at its end."""
        if self.right[node] >= 0:
            return self.right[node], x + self.half[node]
        return self.thread[node], x + self.thread_shift[node]

    def join(self, node: int) -> None:
        """Push the two subtrees of a node together until they are 1 apart."""
        a, b = self.left[node], self.right[node]
        distance, inner_a, inner_b = 1.0, (a, 0.0), (b, 0.0)
        while True:
            inner_a, inner_b = self.next_right(*inner_a), self.next_left(*inner_b)
            if inner_a[0] < 0 or inner_b[0] < 0:
                break
            distance = max(distance, inner_a[1] - inner_b[1] + 1.0)
        half = self.half[node] = distance / 2
        if inner_a[0] >= 0:  # the left subtree is deeper
            self._tie(self.lowest_right[b], self.lowest_right_x[b] + half, inner_a[0], inner_a[1] - half)
            b = a
        elif inner_b[0] >= 0:
            self._tie(self.lowest_left[a], self.lowest_left_x[a] - half, inner_b[0], inner_b[1] + half)
            a = b
        self.lowest_left[node], self.lowest_right[node] = self.lowest_left[a], self.lowest_right[b]
        self.lowest_left_x[node] = self.lowest_left_x[a] + (half if a == self.right[node] else -half)
        self.lowest_right_x[node] = self.lowest_right_x[b] + (half if b == self.right[node] else -half)

    def _tie(self, node: int, x: float, below: int, below_x: float) -> None:
        self.thread[node], self.thread_shift[node] = below, below_x - x


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

    Parameters
    ----------
    children : sequence of sequences of int
        Children of each node, which come after it.

    Returns
    -------
    float64 array (nodes)
        Positions from 0 on.

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
