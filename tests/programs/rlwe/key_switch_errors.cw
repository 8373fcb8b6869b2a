; As many digits as the key has; a result of its shape that is no operand.
%a = host_to_device i64[1, 4, 1, 2] iota
%key = host_to_device i64[4, 2, 4, 2] iota
%q = host_to_device i64[2] {97, 193}
%psi = host_to_device i64[2, 4] iota
%perm = host_to_device i64[4] {0, 2, 1, 3}
%o = empty [1, 4, 2, 2], i64
%w = empty [1, 4, 2, 2], i32
%e1 = key_switch %a, %key, %q, none, %psi, %psi, %q, %perm, 3, 4, %o
%e2 = key_switch %a, %key, %q, none, %psi, %psi, %q, %perm, 4, 62, %o
%e3 = key_switch %a, %key, %q, none, %psi, %psi, %q, %perm, 4, 4, %w
%e4 = key_switch %a, %key, %q, none, %psi, %psi, %q, %perm, 4, 4
%many = unsqueeze %q, 0
%many = unsqueeze %many, 0
%many = unsqueeze %many, 0
%many = expand %many, 1, 1099511627776
%e5 = key_switch %a, %many, %q, none, %psi, %psi, %q, %perm, 1, 4, %o
free %many
free %a
free %key
free %q
free %psi
free %perm
free %o
free %w

; error: range: step 7: key_switch: `g_exp`: expected 4, the digits of `key`, got 3
; error: range: step 8: key_switch: `g_base_bits`: expected an integer from 1 to 61, got 62
; error: dtype: step 9: key_switch: `out` (%w): expected i64[1, 4, 2, 2], got i32[1, 4, 2, 2]
; error: argument-count: step 10: key_switch: expected 11 arguments, got 10; in order: a, key, q, q_inv, psi, psi_inv, n_inv, perm, g_exp, g_base_bits, out
; warning: shadowed-name: step 12: unsqueeze: `result` (%many): expected an unused name, got a tensor that is live since step 11
; warning: shadowed-name: step 13: unsqueeze: `result` (%many): expected an unused name, got a tensor that is live since step 12
; warning: shadowed-name: step 14: expand: `result` (%many): expected an unused name, got a tensor that is live since step 13
; error: shape: step 15: key_switch: `key` (%many): expected at most 256 polynomials, got [1, 1099511627776, 1, 2]
