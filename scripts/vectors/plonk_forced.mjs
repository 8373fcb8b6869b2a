// node plonk_forced.mjs CURVE WTNS B1,...,B11 PROOF: snarkjs's prover with its random scalars given.
import { getCurveFromName } from "ffjavascript";
import { writeFileSync } from "node:fs";
import * as snarkjs from "snarkjs";

const [name, witness, numbers, target] = process.argv.slice(2);
const curve = await getCurveFromName(name);
const draws = numbers.split(",").map((value) => curve.Fr.e(BigInt(value)));
curve.Fr.random = () => draws.shift();
const { proof } = await snarkjs.plonk.prove(`${name}/mixed.zkey`, witness);
writeFileSync(target, JSON.stringify(proof, null, 1));
process.exit(0);
