"""Graphs as the checker knows them: nodes with what each does, and their order; each launch is played through."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from .clocks import Clock, Stack, Timeline
from .memory import Allocation, Memory, Range


@dataclass(frozen=True, slots=True)
class Touch:
    """Bytes that work reads or writes. Without ranges it is not known which: then only that they are there is checked."""

    address: int
    ranges: tuple[Range, ...] | None
    writes: bool
    label: str


@dataclass(frozen=True, slots=True)
class Begin:
    """Memory that begins to be."""

    allocation: Allocation


@dataclass(frozen=True, slots=True)
class End:
    """Memory that ends."""

    allocation: Allocation
    is_late: bool = False  # what graphs do with it is over


@dataclass(frozen=True, slots=True)
class Anything:
    """Work that cannot be looked into, and may write whatever it reaches."""


Action = Touch | Begin | End | Anything


@dataclass(eq=False)
class Node:
    call: str
    stack: Stack
    actions: tuple[Action, ...]
    after: tuple[Node, ...]
    meant: dict[int, Allocation] = field(default_factory=dict)
    """Of an executable graph: the memory that was at the addresses when they were put there."""

    def mean(self, memory: Memory, own: Collection[Allocation]) -> None:
        """Memory of the graph's own (`own`) begins and ends with its launches, and is left out."""
        self.meant = {}
        for action in self.actions:
            found = memory.at(action.address) if isinstance(action, Touch) else None
            if found is not None and found.freed is None and found not in own and isinstance(action, Touch):
                self.meant[action.address] = found


@dataclass(eq=False)
class Graph:
    nodes: list[Node] = field(default_factory=list)
    by_handle: dict[int, Node] = field(default_factory=dict)

    def add(self, call: str, stack: Stack, actions: Iterable[Action], after: Iterable[Node]) -> Node:
        node = Node(call, stack, tuple(actions), tuple(dict.fromkeys(after)))
        self.nodes.append(node)
        return node

    def add_graph(self, child: Graph, after: Iterable[Node], call: str, stack: Stack) -> Node:
        """All nodes of another; the result is over when they are."""
        before = tuple(after)
        copies: dict[Node, Node] = {}
        for node in child.nodes:
            inner = [copies[each] for each in node.after]
            copies[node] = self.add(node.call, node.stack, node.actions, inner or before)
        return self.add(call, stack, (), [*copies.values(), *before])

    def remove(self, node: Node) -> None:
        self.nodes = [each for each in self.nodes if each is not node]
        for each in self.nodes:
            each.after = tuple(other for other in each.after if other is not node)

    def own_memory(self) -> set[Allocation]:
        return {
            action.allocation
            for node in self.nodes
            for action in node.actions
            if isinstance(action, (Begin, End))
        }

    def executable(self, memory: Memory) -> Graph:
        """A copy that knows which memory its addresses mean."""
        result = self.copy()
        own = result.own_memory()
        for node in result.nodes:
            node.mean(memory, own)
        return result

    def copy(self) -> Graph:
        result = Graph()
        copies: dict[Node, Node] = {}
        for node in in_order(self.nodes):
            copies[node] = result.add(
                node.call, node.stack, node.actions, (copies[each] for each in node.after)
            )
        handles = {handle: copies[node] for handle, node in self.by_handle.items() if node in copies}
        result.by_handle = handles
        return result


@dataclass(eq=False)
class Executable:
    graph: Graph
    name: str
    ended: Clock = field(default_factory=dict)  # the previous launch: an executable graph runs once at a time
    chains: list[Timeline] = field(default_factory=list)
    stack: Stack = ()

    def timelines(self) -> list[tuple[Node, Timeline]]:
        """Each node with the timeline that it is on: nodes of one chain follow one another."""
        nodes = in_order(self.graph.nodes)
        last: dict[Node, int] = {}  # the node that ends a chain: the chain's number
        result: list[tuple[Node, Timeline]] = []
        count = 0
        for node in nodes:
            chain = next((last.pop(before) for before in node.after if before in last), None)
            if chain is None:
                chain = count
                count += 1
            if chain == len(self.chains):
                self.chains.append(Timeline(f"{self.name}, branch {chain + 1}"))
            last[node] = chain
            result.append((node, self.chains[chain]))
        return result


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """Every node after those that it comes after; otherwise as they are."""
    done: set[Node] = set()
    result: list[Node] = []
    members = set(nodes)
    for start in nodes:
        waiting = [start]
        while waiting:
            node = waiting[-1]
            missing = [each for each in node.after if each not in done and each in members]
            if node in done:
                waiting.pop()
            elif missing:
                waiting += missing
            else:
                done.add(node)
                result.append(node)
                waiting.pop()
    return result
