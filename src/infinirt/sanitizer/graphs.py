"""Graphs as the checker knows them: nodes with what each does, and their order; each launch is played through."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .clocks import Clock, Stack, Timeline
from .memory import Allocation, Memory, Range

if TYPE_CHECKING:
    from .streams import Event


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
    also: Clock = field(default_factory=dict)  # it comes after this; what follows on its stream need not


@dataclass(frozen=True, slots=True)
class Anything:
    """Work that cannot be looked into, and may write whatever it reaches."""


@dataclass(frozen=True, slots=True)
class Record:
    """An event is recorded when the graph gets there."""

    event: Event


@dataclass(frozen=True, slots=True)
class Wait:
    """For what an event stood for when the graph was launched."""

    event: Event


Action = Touch | Begin | End | Anything | Record | Wait


@dataclass(eq=False)
class Node:
    call: str
    stack: Stack
    actions: tuple[Action, ...]
    after: tuple[Node, ...]
    meant: dict[int, Allocation] = field(default_factory=dict)
    """Of an executable graph: the memory that was at the addresses when they were put there."""
    is_inner: bool = False  # of a child graph: the program sees the one node that it is in
    is_off: bool = False  # of an executable graph: it takes its place in the order, and does nothing

    def mean(self, memory: Memory, own: Collection[Allocation]) -> None:
        """Memory of the graph's own (`own`) begins and ends with its launches, and is left out."""
        self.meant = {}
        for action in self.actions:
            found = memory.at(action.address) if isinstance(action, Touch) else None
            if found is not None and found.freed is None and found not in own and isinstance(action, Touch):
                self.meant[action.address] = found

    def played(self, is_unclear: bool) -> tuple[Action, ...]:
        if self.is_off:
            return ()
        return tuple(each for each in self.actions if not (is_unclear and isinstance(each, Touch)))


@dataclass(eq=False)
class Graph:
    nodes: list[Node] = field(default_factory=list)
    handles: list[int] = field(default_factory=list)  # of those nodes whose handles are known
    threads: set[int] = field(default_factory=set)  # that have added nodes
    copies: dict[Node, Node] = field(default_factory=dict)  # of a copy: by the nodes that they were made of
    is_unclear: bool = False  # what its nodes touch, and in which order, is not known

    @property
    def shown(self) -> list[Node]:
        """The nodes that the program can ask for, in the order in which they were made."""
        return [node for node in self.nodes if not node.is_inner]

    def add(self, call: str, stack: Stack, actions: Iterable[Action], after: Iterable[Node]) -> Node:
        node = Node(call, stack, tuple(actions), tuple(dict.fromkeys(after)))
        self.nodes.append(node)
        return node

    def add_graph(self, child: Graph, after: Iterable[Node], call: str, stack: Stack) -> Node:
        """All nodes of another; the result is over when they are."""
        before = tuple(after)
        copies: dict[Node, Node] = {}
        for node in in_order(child.nodes):
            inner = [copies[each] for each in node.after]
            copies[node] = self.add(node.call, node.stack, node.played(False), inner or before)
            copies[node].is_inner = True
        self.is_unclear |= child.is_unclear
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
        copies = {
            node: Node(node.call, node.stack, node.actions, (), is_inner=node.is_inner) for node in self.nodes
        }
        for node, copied in copies.items():
            copied.after = tuple(copies[each] for each in node.after if each in copies)
        return Graph(
            list(copies.values()), threads=set(self.threads), copies=copies, is_unclear=self.is_unclear
        )


@dataclass(eq=False)
class Executable:
    graph: Graph
    name: str
    ended: Clock = field(default_factory=dict)  # the previous launch: an executable graph runs once at a time
    chains: list[Timeline] = field(default_factory=list)
    stack: Stack = ()

    def update(self, graph: Graph) -> None:
        """Another graph of the same shape, made executable, takes the place of this one: node by node, each as it is on or off."""
        before = dict(zip(self.graph.nodes, graph.nodes, strict=False))
        for old, new in before.items():
            new.is_off = old.is_off
        # The nodes of the graph that it was made of still mean the same ones.
        for origin, old in self.graph.copies.items():
            if old in before:
                graph.copies.setdefault(origin, before[old])
        self.graph = graph

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
