; Moduli share no factor.
%a = host_to_device i64[1, 2, 1] {1, 2}
%q = host_to_device i64[2] {6, 15}
%three = host_to_device i64[3] {5, 7, 11}
%o = empty [1, 2, 1], i64
%e1 = g_decomp_full_q %a, %q, none, 2, 4, none, none, %o
%e2 = g_decomp_full_q %a, %three, none, 2, 4, none, none, %o
%e3 = g_decomp_full_q %a, %q, %lost, 2, 4, none, none, %o
free %a
free %q
free %three
free %o

; error: modulus: step 4: g_decomp_full_q: `q` (%q): expected coprime moduli, got 6 and 15, which share 3
; error: shape: step 5: g_decomp_full_q: `q` (%three): expected shape [2], got [3]
; error: undefined-name: step 6: g_decomp_full_q: `q_inv` (%lost): expected a tensor that is defined before, got an undefined tensor; upload or allocate it first, or correct the name
; error: modulus: step 6: g_decomp_full_q: `q` (%q): expected coprime moduli, got 6 and 15, which share 3
