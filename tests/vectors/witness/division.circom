pragma circom 2.1.0;
function gcd(a, b) { while (b != 0) { var r = a % b; a = b; b = r; } return a; }
template Divide() {
    signal input a; signal input b; signal output q; signal output g;
    q <-- a / b;
    q * b === a;
    g <-- gcd(a, b);
    signal inverse <-- 1 / g;
    inverse * g === 1;
}
component main = Divide();
