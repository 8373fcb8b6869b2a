; Products of the elements before each.
%ai = host_to_device i64[3] {2, 3, 4}
%a = empty [3], babybear
%a = astype %ai, babybear, %a
%si = host_to_device i64[] {10}
%s = empty [], babybear
%s = astype %si, babybear, %s
%o = empty [3], babybear
%o = scan_mul %a, %s, %o
%c = empty [3, 1], u64
%c = to_canonical %o, %c
device_to_host %c, none -> u64[3, 1] {10, 20, 60}
free %ai
free %a
free %si
free %s
free %o
free %c

; type %ai i64[3]
; type %a babybear[3]
; type %si i64[]
; type %s babybear[]
; type %o babybear[3]
; type %c u64[3, 1]
