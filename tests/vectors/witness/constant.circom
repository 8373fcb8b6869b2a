pragma circom 2.1.0;
template Constant() { signal output out; out <== 42; }
component main = Constant();
