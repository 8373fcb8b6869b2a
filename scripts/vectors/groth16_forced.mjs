// node groth16_forced.mjs CURVE WTNS R S PROOF: snarkjs's prover with its two random scalars given.
import { getCurveFromName } from "ffjavascript";
import { writeFileSync } from "node:fs";
import * as snarkjs from "snarkjs";

const [name, witness, r, s, target] = process.argv.slice(2);
const curve = await getCurveFromName(name);
const draws = [r, s].map((value) => curve.Fr.e(BigInt(value)));
curve.Fr.random = () => draws.shift();
const { proof } = await snarkjs.groth16.prove(`${name}/mixed.zkey`, witness);
writeFileSync(target, JSON.stringify(proof, null, 1));
process.exit(0);
