pragma circom 2.0.0;
// Private inputs that no constraint uses: circom drops their wires, and its header counts them.
template Dropped() {
    signal input a;
    signal input b;
    signal input salt[6];
    signal output c;
    c <== a * b;
}
component main {public [a]} = Dropped();
