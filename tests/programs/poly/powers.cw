; Powers from a start.
%xi = host_to_device i64[] {3}
%x = empty [], babybear
%x = astype %xi, babybear, %x
%si = host_to_device i64[] {2}
%s = empty [], babybear
%s = astype %si, babybear, %s
%o = empty [4], babybear
%o = powers %x, 4, %s, %o
%c = empty [4, 1], u64
%c = to_canonical %o, %c
device_to_host %c, none -> u64[4, 1] {2, 6, 18, 54}
free %xi
free %x
free %si
free %s
free %o
free %c

; type %xi i64[]
; type %x babybear[]
; type %si i64[]
; type %s babybear[]
; type %o babybear[4]
; type %c u64[4, 1]
