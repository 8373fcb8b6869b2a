pragma circom 2.2.0;
bus Point() { signal x; signal y; }
bus Pair() { Point() left; Point() right[2]; signal tag; }
template Add() {
    input Point() p[2];
    input Pair() q;
    signal input k;
    output Point() out;
    out.x <== p[0].x * p[1].y + q.left.x + q.right[1].x;
    signal scaled <== q.tag * k;
    out.y <== p[0].y * p[1].x + scaled;
}
component main {public [k]} = Add();
