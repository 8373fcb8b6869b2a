#!/bin/sh
# Programs of circom and their witnesses, made anew: scripts/vectors/witness.sh FOLDER, FOLDER
# holding node_modules with circom2 0.2.23 and snarkjs 0.7.6.
set -e
vectors=$(cd "$(dirname "$0")" && pwd)/../../tests/vectors/witness
cd "$1"
flat='
const flat = (name, value, out) => {
  if (Array.isArray(value) && typeof value[0] === "object" && !Array.isArray(value[0])) {
    value.forEach((one, at) => flat(`${name}[${at}]`, one, out));
  } else if (typeof value === "object" && !Array.isArray(value)) {
    for (const key in value) flat(name ? `${name}.${key}` : key, value[key], out);
  } else out[name] = value;
  return out;
};
const read = require("fs").readFileSync(process.argv[1]);
console.log(JSON.stringify(flat("", JSON.parse(read), {})));
'
for made in arrays:arrays:bn128 arrays:arrays381:bls12381 bus:bus:bn128 bits381:bits381:bls12381 \
    constant:constant:bn128 division:division:bn128; do
    source=${made%%:*} rest=${made#*:}
    name=${rest%%:*} prime=${rest#*:}
    cp "$vectors/$source.circom" $name.circom
    node_modules/.bin/circom2 $name.circom --wasm --sym --r1cs --O1 --prime $prime
    node -e "$flat" "$vectors/$source.json" > $name.json
    node_modules/.bin/snarkjs wtns calculate ${name}_js/$name.wasm $name.json $name.wtns
    cp ${name}_js/$name.wasm $name.sym $name.wtns "$vectors/"
    case $name in arrays*) cp $name.r1cs "$vectors/" ;; esac
done
