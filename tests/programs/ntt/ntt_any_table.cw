; Any table and any permutation have a meaning: the recurrence is the definition.
%perm = host_to_device i64[4] {3, 1, 0, 2}
%q = host_to_device i64[1] {17}
%psi = host_to_device i64[1, 4] {1, 4, 16, 13}
%a = host_to_device i64[1, 4, 1, 1] {1, 2, 3, 4}
%a = ntt %a, -3, %perm, none, %q, none, none, %psi, %a, false, false
device_to_host %a, none -> i64[1, 4, 1, 1] {1, 14, 12, 11}
free %perm
free %q
free %psi
free %a

; type %perm i64[4]
; type %q i64[1]
; type %psi i64[1, 4]
; type %a i64[1, 4, 1, 1]
