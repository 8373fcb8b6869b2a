; 7 + 2 X^2.
%xi = host_to_device i64[3] {0, 1, 2}
%x = empty [3], babybear
%x = astype %xi, babybear, %x
%yi = host_to_device i64[3] {7, 9, 15}
%y = empty [3], babybear
%y = astype %yi, babybear, %y
%o = empty [3], babybear
%o = interpolate %x, %y, %o
%c = empty [3, 1], u64
%c = to_canonical %o, %c
device_to_host %c, none -> u64[3, 1] {7, 0, 2}
free %xi
free %x
free %yi
free %y
free %o
free %c

; type %xi i64[3]
; type %x babybear[3]
; type %yi i64[3]
; type %y babybear[3]
; type %o babybear[3]
; type %c u64[3, 1]
