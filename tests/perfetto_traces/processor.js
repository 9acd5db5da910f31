// Perfetto's trace processor, as its web page carries it (WebAssembly for a worker of a browser), at this process's standard input
// and output: messages of its remote interface, each after its length in four bytes, the lowest first.
// Usage: node processor.js FOLDER, with engine_bundle.js and trace_processor.wasm in it.
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const node = process;
const folder = node.argv[2];
const say = (...words) => fs.writeSync(2, words.join(' ').slice(0, 1000) + '\n');
const contents = (address) => fs.readFileSync(path.join(folder, path.basename(String(address))));
node.on('uncaughtException', (error) => {
  say(String((error && error.message) || error));
  node.exit(1);
});

// What the code finds in a browser's worker, as far as it asks.
console.log = console.info = console.warn = console.debug = console.error = say;
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.location = {href: 'http://localhost/engine_bundle.js', protocol: 'http:', host: 'localhost'};
globalThis.fetch = async (address) => new Response(contents(address), {headers: {'content-type': 'application/wasm'}});
globalThis.XMLHttpRequest = class {
  open(method, address) {
    this.address = address;
  }
  send() {
    this.status = 200;
    this.response = Uint8Array.from(contents(this.address)).buffer;
  }
};
Object.defineProperty(globalThis, 'process', {value: undefined, configurable: true});
vm.runInThisContext(contents('engine_bundle.js').toString(), {filename: 'engine_bundle.js'});

const port = {
  postMessage(data) {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(data.length);
    for (const part of [length, Buffer.from(data)]) {
      for (let at = 0; at < part.length;) at += fs.writeSync(1, part, at);
    }
  },
};

let pending = Buffer.alloc(0);
function answer(more) {
  pending = Buffer.concat([pending, more]);
  while (pending.length >= 4) {
    const end = 4 + pending.readUInt32LE(0);
    if (pending.length < end) return;
    const message = Uint8Array.from(pending.subarray(4, end));
    pending = pending.subarray(end);
    port.onmessage({data: message});
  }
}

// Until the module has been compiled nothing listens.
const waiting = setInterval(() => {
  if (typeof globalThis.onmessage !== 'function') return;
  clearInterval(waiting);
  globalThis.onmessage({data: port});
  node.stdin.on('data', answer);
}, 5);
