; The step's own name means the tensor that was written, also where the op is expanded.
%a = host_to_device i64[1, 4, 1, 2] {80, 137, 23, 144, 69, 42, 29, 35}
%key = host_to_device i64[4, 2, 4, 2] {1, 3, 4, 6, 7, 9, 10, 12, 6, 8, 9, 11, 12, 14, 15, 17, 12, 14, 15, 17, 18, 20, 21, 23, 17, 19, 20, 22, 23, 25, 26, 28, 23, 25, 26, 28, 29, 31, 32, 34, 28, 30, 31, 33, 34, 36, 37, 39, 34, 36, 37, 39, 40, 42, 43, 45, 39, 41, 42, 44, 45, 47, 48, 50}
%q = host_to_device i64[2] {97, 193}
%psi = host_to_device i64[2, 4] {1, 22, 64, 50, 1, 112, 43, 184}
%inverse = host_to_device i64[2, 4] {1, 75, 47, 33, 1, 81, 9, 150}
%n_inv = host_to_device i64[2] {73, 145}
%perm = host_to_device i64[4] {0, 2, 1, 3}
%o = empty [1, 4, 2, 2], i64
%r = key_switch %a, %key, %q, none, %psi, %inverse, %n_inv, %perm, 4, 4, %o
free %o
device_to_host %r, none -> i64[1, 4, 2, 2] {0, 190, 44, 169, 64, 124, 53, 92, 64, 184, 73, 162, 87, 88, 54, 77}
free %r

; warning: leak: step 0: host_to_device (%a): expected a free of the tensor, got none
; warning: leak: step 1: host_to_device (%key): expected a free of the tensor, got none
; warning: leak: step 2: host_to_device (%q): expected a free of the tensor, got none
; warning: leak: step 3: host_to_device (%psi): expected a free of the tensor, got none
; warning: leak: step 4: host_to_device (%inverse): expected a free of the tensor, got none
; warning: leak: step 5: host_to_device (%n_inv): expected a free of the tensor, got none
; warning: leak: step 6: host_to_device (%perm): expected a free of the tensor, got none
; warning: result-name: step 8: key_switch: `result` (%r, %o): expected %o, got %r; both names now refer to the tensor that was written
; type %a i64[1, 4, 1, 2]
; type %key i64[4, 2, 4, 2]
; type %q i64[2]
; type %psi i64[2, 4]
; type %inverse i64[2, 4]
; type %n_inv i64[2]
; type %perm i64[4]
; type %o i64[1, 4, 2, 2]
