; What an op demands of contents that only the run knows is checked then: here a modulus of 0.
%a = host_to_device i64[1] {5}
%q = host_to_device input "q" i64[1]
%a = _modmul_ttt %a, %a, %q, %a
device_to_host %a, none -> i64[1] {0}
free %a
free %q

; type %a i64[1]
; type %q i64[1]
; failed: step 2: _modmul_ttt: `q`: expected a modulus from 2 to 2^62 - 1, got 0
