pragma circom 2.1.0;
template Bits(n) {
    signal input in;
    signal output out[n];
    var total = 0;
    for (var i = 0; i < n; i++) {
        out[i] <-- (in >> i) & 1;
        out[i] * (out[i] - 1) === 0;
        total += out[i] * 2 ** i;
    }
    total === in;
}
component main = Bits(64);
