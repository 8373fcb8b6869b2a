// Vectors of Poseidon: npm install circomlibjs@0.1.7, then node scripts/vectors/circomlib.mjs.
import fs from "fs";
import { buildPoseidonReference } from "circomlibjs";

const p = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
const poseidon = await buildPoseidonReference();
let seed = 0x9e3779b97f4a7c15n;

function next() {
  let value = 0n;
  for (let i = 0; i < 4; i++) {
    seed = (seed * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
    value = (value << 64n) | seed;
  }
  return value % p;
}

const cases = [];
for (let n = 1; n <= 16; n++) {
  const counted = Array.from({ length: n }, (_, i) => BigInt(i + 1));
  const arbitrary = Array.from({ length: n }, next);
  for (const row of [counted, Array(n).fill(p - 1n), Array(n).fill(0n), arbitrary]) {
    const hash = poseidon.F.toObject(poseidon(row)).toString();
    cases.push({ inputs: row.map(String), hash });
  }
}
const file = {
  source: "circomlibjs 0.1.7, buildPoseidonReference",
  url: "https://www.npmjs.com/package/circomlibjs",
  generated_by: "scripts/vectors/circomlib.mjs",
  cases,
};
fs.writeFileSync("tests/vectors/poseidon_circomlib.json", JSON.stringify(file, null, 1) + "\n");
