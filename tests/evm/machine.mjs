// Compiles, deploys and calls contracts: JSON on standard input and output.
//
//   contracts   {name: {source, contract} of Solidity, or {code}: bytes that deploy it, in hex}
//   calls       [{to, signature, data, gas}]: the arguments after the selector, in hex
//
// answers has {returned, gas, error} a call; `gas` is what the execution uses, without the
// transaction's own cost.
import { readFileSync } from "node:fs";
import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createEVM, MCLBLS, RustBN254 } from "@ethereumjs/evm";
import { bytesToHex, hexToBytes } from "@ethereumjs/util";
import { keccak_256 } from "@noble/hashes/sha3.js";
import * as mcl from "mcl-wasm";
import { initRustBN } from "rustbn-wasm";
import solc from "solc";

const asked = JSON.parse(readFileSync(0, "utf8"));

function compiled({ source, contract }) {
  const settings = {
    optimizer: { enabled: true, runs: 200 },
    outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
  };
  const input = { language: "Solidity", sources: { file: { content: source } }, settings };
  const made = JSON.parse(solc.compile(JSON.stringify(input)));
  // Warnings are errors, too.
  for (const one of made.errors ?? []) throw new Error(one.formattedMessage);
  return `0x${made.contracts.file[contract].evm.bytecode.object}`;
}

const common = new Common({ chain: Mainnet, hardfork: Hardfork.Prague });
await mcl.init(mcl.BLS12_381);
const evm = await createEVM({
  common,
  bn254: new RustBN254(await initRustBN()),
  bls: new MCLBLS(mcl),
});
const deployed = {};
for (const [name, given] of Object.entries(asked.contracts)) {
  const data = hexToBytes(given.code ?? compiled(given));
  const { createdAddress, execResult } = await evm.runCall({ data, gasLimit: 30_000_000n });
  if (execResult.exceptionError) throw new Error(`${name}: ${execResult.exceptionError.error}`);
  deployed[name] = createdAddress;
}
const answers = [];
for (const { to, signature, data, gas } of asked.calls) {
  const selector = keccak_256(new TextEncoder().encode(signature)).slice(0, 4);
  const bytes = hexToBytes(`${bytesToHex(selector)}${data}`);
  const gasLimit = BigInt(gas ?? 10_000_000);
  const { execResult } = await evm.runCall({ to: deployed[to], data: bytes, gasLimit });
  answers.push({
    returned: bytesToHex(execResult.returnValue).slice(2),
    gas: Number(execResult.executionGasUsed),
    error: execResult.exceptionError?.error ?? null,
  });
}
const sizes = {};
for (const [name, address] of Object.entries(deployed)) {
  sizes[name] = (await evm.stateManager.getCode(address)).length;
}
process.stdout.write(JSON.stringify({ answers, sizes }));
