#!/bin/sh
# Files of circom and snarkjs, made anew: scripts/vectors/groth16.sh FOLDER, FOLDER holding
# node_modules with circom2 0.2.23 and snarkjs 0.7.6. Secrets of the ceremony differ each time, so
# that keys and proofs do; tests/vectors/groth16/README.md says what each file is.
set -e
here=$(cd "$(dirname "$0")" && pwd)
vectors=$here/../../tests/vectors/groth16
cd "$1"
snarkjs=$PWD/node_modules/.bin/snarkjs
cp "$vectors/mixed.circom" "$vectors/dropped.circom" "$here/groth16_forced.mjs" .
for curve in bn128 bls12381; do
    mkdir -p "$curve"
    for name in mixed dropped; do
        node_modules/.bin/circom2 $name.circom --r1cs --wasm --O1 --prime $curve -o $curve
    done
    echo '{"x": "7", "y": "123456789012345678901234567890123456789", "unused": "5"}' > $curve/1.json
    echo '{"x": "0", "y": "0", "unused": "0"}' > $curve/2.json
    last=21888242871839275222246405745257275088548364400416034343698204186575808495616
    echo '{"x": "200", "y": "1", "unused": "'$last'"}' > $curve/3.json
    $snarkjs powersoftau new $curve 6 $curve/0.ptau
    $snarkjs powersoftau contribute $curve/0.ptau $curve/1.ptau --name=first -e=entropy
    $snarkjs powersoftau prepare phase2 $curve/1.ptau $curve/2.ptau
    for name in mixed dropped; do
        $snarkjs groth16 setup $curve/$name.r1cs $curve/2.ptau $curve/0.zkey
        $snarkjs zkey contribute $curve/0.zkey $curve/$name.zkey --name=second -e=more
        $snarkjs zkey export verificationkey $curve/$name.zkey $curve/$name.vkey.json
    done
    echo '{"a": "6", "b": "7", "salt": ["1", "2", "3", "4", "5", "6"]}' > $curve/dropped.json
    $snarkjs wtns calculate $curve/dropped_js/dropped.wasm $curve/dropped.json $curve/dropped.wtns
    for number in 1 2 3; do
        base=$curve/mixed$number
        $snarkjs wtns calculate $curve/mixed_js/mixed.wasm $curve/$number.json $base.wtns
        $snarkjs groth16 prove $curve/mixed.zkey $base.wtns $base.proof.json $base.public.json
        node groth16_forced.mjs $curve $base.wtns 1 2 $base.forced12.json
        node groth16_forced.mjs $curve $base.wtns 0 0 $base.forced00.json
    done
    cp $curve/mixed.r1cs $curve/mixed.zkey $curve/mixed*.wtns $curve/mixed*.json "$vectors/$curve/"
    cp $curve/dropped.r1cs $curve/dropped.zkey $curve/dropped.wtns $curve/dropped.vkey.json \
        "$vectors/$curve/"
done
