pragma circom 2.1.0;
template Rows(n, m) {
    signal input a[n][m];
    signal input k;
    signal output sum[n];
    for (var i = 0; i < n; i++) {
        var total = 0;
        for (var j = 0; j < m; j++) { total += a[i][j] * (j + 1); }
        log("row", i, total);
        sum[i] <== total * k;
    }
    log(k);
    signal check <== k * k;
    check - k * k === 0;
    assert(k < 1000);
}
component main {public [k]} = Rows(3, 2);
