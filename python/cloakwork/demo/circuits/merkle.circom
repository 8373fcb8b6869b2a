pragma circom 2.1.0;

include "poseidon.circom";
include "mux1.circom";

// The root of a Merkle tree by a leaf and its path: whoever proves this for a root knows a leaf of
// the tree, and says neither which nor where. Layer i's hash is Poseidon(left, right); sides[i] is 1
// where the path comes from the right.
template MerkleMembership(layers) {
    signal input leaf;
    signal input siblings[layers];
    signal input sides[layers];
    signal output root;
    component hash[layers];
    component order[layers];
    signal node[layers + 1];
    node[0] <== leaf;
    for (var i = 0; i < layers; i++) {
        sides[i] * (1 - sides[i]) === 0;

        order[i] = MultiMux1(2);
        order[i].c[0][0] <== node[i];
        order[i].c[0][1] <== siblings[i];
        order[i].c[1][0] <== siblings[i];
        order[i].c[1][1] <== node[i];
        order[i].s <== sides[i];

        hash[i] = Poseidon(2);
        hash[i].inputs[0] <== order[i].out[0];
        hash[i].inputs[1] <== order[i].out[1];
        node[i + 1] <== hash[i].out;
    }
    root <== node[layers];
}
component main = MerkleMembership(3);
