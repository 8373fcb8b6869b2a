; (X + 2)(X + 3) over X + 2, as long as the dividend.
%ai = host_to_device i64[3] {6, 5, 1}
%a = empty [3], babybear
%a = astype %ai, babybear, %a
%bi = host_to_device i64[] {-2}
%b = empty [], babybear
%b = astype %bi, babybear, %b
%o = empty [3], babybear
%o = kate_div %a, %b, 1, %o
%c = empty [3, 1], u64
%c = to_canonical %o, %c
device_to_host %c, none -> u64[3, 1] {3, 1, 0}
free %ai
free %a
free %bi
free %b
free %o
free %c

; type %ai i64[3]
; type %a babybear[3]
; type %bi i64[]
; type %b babybear[]
; type %o babybear[3]
; type %c u64[3, 1]
