#!/bin/sh
# Files of snarkjs's PLONK, made anew: scripts/vectors/plonk.sh FOLDER, FOLDER holding node_modules
# with snarkjs 0.7.6. Circuits and witnesses are those of Groth16's vectors. Secrets of the ceremony
# differ each time, so that keys and proofs do; tests/vectors/plonk/README.md says what each file is.
set -e
here=$(cd "$(dirname "$0")" && pwd)
given=$here/../../tests/vectors/groth16
vectors=$here/../../tests/vectors/plonk
cd "$1"
snarkjs=$PWD/node_modules/.bin/snarkjs
cp "$here/plonk_forced.mjs" .
for curve in bn128 bls12381; do
    mkdir -p "$curve" "$vectors/$curve"
    $snarkjs powersoftau new $curve 5 $curve/0.ptau
    $snarkjs powersoftau contribute $curve/0.ptau $curve/pot5.ptau --name=first -e=entropy
    $snarkjs powersoftau prepare phase2 $curve/pot5.ptau $curve/2.ptau
    $snarkjs plonk setup "$given/$curve/mixed.r1cs" $curve/2.ptau $curve/mixed.zkey
    $snarkjs zkey export verificationkey $curve/mixed.zkey $curve/mixed.vkey.json
    for number in 1 2 3; do
        witness=$given/$curve/mixed$number.wtns
        base=$curve/mixed$number
        $snarkjs plonk prove $curve/mixed.zkey "$witness" $base.proof.json $base.public.json
        node plonk_forced.mjs $curve "$witness" 1,2,3,4,5,6,7,8,9,10,11 $base.forced.json
        cp $base.*.json "$vectors/$curve/"
    done
    cp $curve/pot5.ptau $curve/mixed.zkey $curve/mixed.vkey.json "$vectors/$curve/"
done
