pragma circom 2.1.0;

// A small circuit with what provers meet: public inputs and outputs, wires of value 0 and 1, a wire
// that no constraint holds (its points are at infinity), one used on one side only, constants.
template Bits(n) {
    signal input value;
    signal output bit[n];
    var sum = 0;
    for (var i = 0; i < n; i++) {
        bit[i] <-- (value >> i) & 1;
        bit[i] * (bit[i] - 1) === 0;
        sum += bit[i] * 2 ** i;
    }
    sum === value;
}

template Mixed() {
    signal input x;
    signal input y;
    signal input unused;
    signal output cube;
    signal output low;
    component bits = Bits(8);
    bits.value <== x;
    low <== bits.bit[0] * bits.bit[1];
    signal square <== y * y;
    signal mixed <== square * (y + 7) - 3 * x;
    signal inverse <-- mixed == 0 ? 0 : 1 / mixed;
    signal isZero <== 1 - mixed * inverse;
    mixed * isZero === 0;
    cube <== mixed * (x + isZero);
}

component main {public [x]} = Mixed();
