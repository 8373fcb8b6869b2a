; 3 begins in row 0, 5 in row 1; 4 is left and goes beside the repeated 5.
%ai = host_to_device i64[4] {5, 3, 5, 9}
%a = empty [4], babybear
%a = astype %ai, babybear, %a
%ti = host_to_device i64[4] {3, 4, 5, 8}
%t = empty [4], babybear
%t = astype %ti, babybear, %t
%o = empty [3], i64
%o = lookup_rows %a, %t, 3, %o
device_to_host %o, none -> i64[3] {0, 2, 1}
free %ai
free %a
free %ti
free %t
free %o

; type %ai i64[4]
; type %a babybear[4]
; type %ti i64[4]
; type %t babybear[4]
; type %o i64[3]
