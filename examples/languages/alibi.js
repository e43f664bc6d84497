// ALiBi in JavaScript, judged over the line protocol:
//
//     posenc check --command "node alibi.js"
//
// slopes() and bias() are the implementation; the rest reads and writes lines (docs/protocol.md). The slopes are those of the authors'
// code, and so declared; started with --paper they are the paper's, which posenc notices and says to declare.
"use strict";

const paper = process.argv.includes("--paper");

function powers(heads, maxBias) {
  return Array.from({ length: heads }, (_, h) => 2 ** ((-maxBias * (h + 1)) / heads));
}

function slopes(heads, maxBias) {
  const whole = 2 ** Math.floor(Math.log2(heads));
  if (paper || whole === heads) return powers(heads, maxBias);
  const between = powers(2 * whole, maxBias).filter((_, h) => h % 2 === 0);
  return [...powers(whole, maxBias), ...between.slice(0, heads - whole)];
}

function bias(queries, keys, { num_heads: heads, max_bias: maxBias }) {
  return slopes(heads, maxBias).flatMap((slope) => queries.flatMap((m) => keys.map((n) => -slope * (m - n))));
}

function integers({ base64 }) {
  const bytes = Buffer.from(base64, "base64");
  return Array.from({ length: bytes.length / 8 }, (_, i) => Number(bytes.readBigInt64LE(8 * i)));
}

function tensor(values, shape) {
  const bytes = Buffer.alloc(8 * values.length);
  values.forEach((value, i) => bytes.writeDoubleLE(value, 8 * i));
  return { dtype: "float64", shape, base64: bytes.toString("base64") };
}

function answer({ operation, arrays, parameters }) {
  if (operation === "alibi.slopes") {
    return { results: { result: tensor(slopes(parameters.num_heads, parameters.max_bias), [parameters.num_heads]) } };
  }
  if (operation === "alibi.bias" && parameters.form === "row") {
    const [queries, keys] = [integers(arrays.query_positions), integers(arrays.key_positions)];
    return { results: { result: tensor(bias(queries, keys, parameters), [parameters.num_heads, queries.length, keys.length]) } };
  }
  return { unsupported: `${operation} with ${JSON.stringify(parameters)}` };
}

const described = {
  protocol: 1,
  name: "js-alibi",
  version: "1",
  implementations: [
    { operation: "alibi.slopes", dtypes: ["float64"], restrictions: { slopes: "code" } },
    { operation: "alibi.bias", dtypes: ["float64"], rows: "shared", restrictions: { slopes: "code", form: "row" } },
  ],
};

function reply(line) {
  const { id, method, calls } = JSON.parse(line);
  return JSON.stringify(method === "describe" ? { id, ...described } : { id, replies: calls.map(answer) });
}

require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => process.stdout.write(`${reply(line)}\n`));
