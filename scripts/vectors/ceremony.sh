#!/bin/sh
# Make tests/vectors/ceremony anew: sh scripts/vectors/ceremony.sh FOLDER, where FOLDER holds
# node_modules with snarkjs 0.7.6.
set -eu
folder=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
beacon=0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20
snarkjs() { "$folder/node_modules/.bin/snarkjs" "$@"; }
for curve in bn128 bls12381; do
  circuit="$root/tests/vectors/groth16/$curve/mixed.r1cs"
  cd "$root/tests/vectors/ceremony/$curve"
  snarkjs powersoftau new "$curve" 5 new.ptau
  snarkjs powersoftau contribute new.ptau contributed.ptau --name=first -e=typed
  snarkjs powersoftau beacon contributed.ptau ended.ptau $beacon 10 -n=end
  snarkjs powersoftau prepare phase2 ended.ptau prepared.ptau
  snarkjs groth16 setup "$circuit" prepared.ptau first.zkey
  snarkjs zkey contribute first.zkey contributed.zkey --name=me -e=typed
  snarkjs zkey beacon contributed.zkey final.zkey $beacon 10 -n=end
  rm new.ptau ended.ptau
done
