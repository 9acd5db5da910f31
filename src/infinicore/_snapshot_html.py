"""The page that shows a snapshot: everything in one file, drawn by the browser from the data in it."""

from __future__ import annotations

import html
import json
from typing import Any

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Memory of @DEVICE@</title>
<style>
  body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 1200px; color: #222; padding: 0 1em; }
  h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 1.8em; }
  table { border-collapse: collapse; } td { padding: 0 1.2em 0 0; } td + td { text-align: right; }
  canvas { width: 100%; display: block; border: 1px solid #ddd; background: #fafafa; }
  .key span { display: inline-block; margin-right: 1.2em; } .key i { display: inline-block; width: 1em; height: 1em;
    margin-right: .4em; vertical-align: -2px; border: 1px solid #888; }
  #about { white-space: pre-wrap; font: 12px/1.4 ui-monospace, monospace; min-height: 12em; background: #f4f4f4;
    padding: .8em; margin-top: .8em; }
</style>
</head>
<body>
<h1>Memory of @DEVICE@</h1>
<table id="statistics"></table>
<h2>Timeline</h2>
<p id="no-events" hidden>Nothing was recorded: call infinicore.memory.record_history() first.</p>
<canvas id="timeline" height="240"></canvas>
<h2>Segments and blocks</h2>
<p class="key" id="key"></p>
<canvas id="map"></canvas>
<div id="about">Point at a block, or at the timeline.</div>
<script type="application/json" id="data">@DATA@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const COLORS = { used: "#3b7dd8", pending: "#e0a030", free: "#e8e8e8", reserved: "#8a5cc2" };
const kind = block => block.is_reserved ? "reserved" : block.state;
const about = document.getElementById("about");
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (n >= 1024 && unit < 4) { n /= 1024; unit += 1; }
  return (unit ? n.toFixed(2) : n) + " " + units[unit];
}
function prepare(canvas, height) {
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.style.height = height + "px";
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = "11px sans-serif";
  return [context, width];
}
const BYTES = ["reserved", "reserved_peak", "used", "used_peak", "requested", "largest_free_block"];
for (const [name, value] of Object.entries(data.statistics)) {
  const row = document.getElementById("statistics").insertRow();
  row.insertCell().textContent = name.replaceAll("_", " ");
  row.insertCell().textContent = BYTES.includes(name) ? bytes(value) : value;
}
for (const [name, words] of [["used", "in use"], ["reserved", "set aside for graphs"],
                             ["pending", "freed, waiting for other streams"], ["free", "free"]]) {
  const item = document.createElement("span"), box = document.createElement("i");
  box.style.background = COLORS[name];
  item.append(box, words);
  document.getElementById("key").append(item);
}
// The map: a row for each segment, as long as it is large; blocks by address.
const ROW = 22, rows = data.segments, largest = Math.max(1, ...rows.map(s => s.size));
let placed = [];
function drawMap() {
  const canvas = document.getElementById("map"), [context, width] = prepare(canvas, rows.length * ROW + 8);
  placed = [];
  rows.forEach((segment, i) => {
    for (const block of segment.blocks) {
      const x = (block.address - segment.address) / largest * width, w = block.size / largest * width;
      context.fillStyle = COLORS[kind(block)];
      context.fillRect(x, i * ROW + 4, Math.max(w, 0.5), ROW - 5);
      if (w > 3) { context.strokeStyle = "#fff"; context.strokeRect(x, i * ROW + 4, w, ROW - 5); }
      placed.push([x, Math.max(w, 0.5), i, block]);
    }
  });
}
document.getElementById("map").addEventListener("mousemove", event => {
  const row = Math.floor((event.offsetY - 4) / ROW);
  const found = placed.find(([x, w, i]) => i === row && event.offsetX >= x && event.offsetX <= x + w);
  if (!found) return;
  const block = found[3];
  about.textContent = `${bytes(block.size)} at 0x${block.address.toString(16)}: ${block.state}` +
    (block.is_reserved ? ", set aside for a graph" : "") +
    (block.state === "used" ? `, ${block.requested} bytes asked for` : "") +
    (block.stream === null ? ", for any stream" : `, stream 0x${block.stream.toString(16)}`) +
    (block.stack.length ? "\\n" + block.stack.join("\\n") : "");
});
// The timeline: bytes asked for and not freed, after each event.
const points = [], sizes = new Map();
let held = 0;
for (const event of data.events) {
  if (event.kind === "allocate") { sizes.set(event.address, event.size); held += event.size; }
  if (event.kind === "free" && sizes.has(event.address)) {
    held -= sizes.get(event.address);
    sizes.delete(event.address);
  }
  points.push([event.time, held, event]);
}
document.getElementById("no-events").hidden = points.length > 0;
const first = points.length ? points[0][0] : 0;
const span = points.length ? Math.max(1, points[points.length - 1][0] - first) : 1;
const highest = Math.max(1, ...points.map(point => point[1]));
function drawTimeline() {
  const canvas = document.getElementById("timeline");
  if (!points.length) { canvas.hidden = true; return; }
  const [context, width] = prepare(canvas, 240);
  context.beginPath();
  context.moveTo(0, 236);
  let y = 236;
  for (const [time, value] of points) {
    const x = (time - first) / span * (width - 2) + 1;
    context.lineTo(x, y);
    y = 236 - value / highest * 215;
    context.lineTo(x, y);
  }
  context.lineTo(width, y);
  context.lineTo(width, 236);
  context.closePath();
  context.fillStyle = "#bcd4f2";
  context.fill();
  context.strokeStyle = COLORS.used;
  context.stroke();
  context.fillStyle = "#444";
  context.fillText(`most: ${bytes(highest)}`, 6, 14);
  context.fillText(`${(span / 1e6).toFixed(2)} ms, ${points.length} events`, width - 180, 14);
}
document.getElementById("timeline").addEventListener("mousemove", event => {
  const time = first + event.offsetX / event.target.clientWidth * span;
  const next = points.findIndex(point => point[0] > time);
  const [, value, what] = points[next < 0 ? points.length - 1 : Math.max(0, next - 1)];
  about.textContent = `${((what.time - first) / 1e6).toFixed(3)} ms: ${what.kind} ` +
    (what.size ? bytes(what.size) + " " : "") + `at 0x${what.address.toString(16)}, then ${bytes(value)} asked for` +
    (what.stack.length ? "\\n" + what.stack.join("\\n") : "");
});
function draw() { drawTimeline(); drawMap(); }
window.addEventListener("resize", draw);
draw();
</script>
</body>
</html>
"""


def page(snapshot: dict[str, Any]) -> str:
    """The whole page. A text in the data cannot end the script that it stands in."""
    data = json.dumps(snapshot, separators=(",", ":")).replace("<", "\\u003c")
    return _PAGE.replace("@DEVICE@", html.escape(str(snapshot["device"]))).replace("@DATA@", data)
