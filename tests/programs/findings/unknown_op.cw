; Names that no op has, with the nearest that one has; arguments are looked at all the same.
%a = host_to_device i64[2] {1, 2}
%b = reshap %a, [2]
%c = _modmul_tttt %a, %a, %a, %a
%d = completely_else %lost
%e = reshape %d, [2]
%f = reshape %a
%g = ntt %a
free %a

; error: unknown-op: step 1: reshap: expected the name of an op, got `reshap`; did you mean `reshape`?
; error: unknown-op: step 2: _modmul_tttt: expected the name of an op, got `_modmul_tttt`; did you mean `_modmul_ttt`?
; error: unknown-op: step 3: completely_else: expected the name of an op, got `completely_else`; a vendor's op is known once CLOAKWORK_DRIVERS names its driver (libmychip.so) or its declarations (libmychip.toml)
; error: undefined-name: step 3: completely_else (%lost): expected a tensor that is defined before, got an undefined tensor; upload or allocate it first, or correct the name
; error: argument-count: step 5: reshape: expected 2 arguments, got 1; in order: a, shape
; error: argument-count: step 6: ntt: expected 10 or 11 arguments, got 1; in order: a, perm, perm_pairs, q, log2q, mu, psi, out, tile, skip_perm; or a, axis, perm, perm_pairs, q, log2q, mu, psi, out, tile, skip_perm
