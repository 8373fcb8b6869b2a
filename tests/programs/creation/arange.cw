; Equal steps from a start: integers, floats, and none at all.
%start = host_to_device i64[] {3}
%step = host_to_device i64[] {-2}
%o = empty [4], i64
%o = arange %start, %step, 4, %o
device_to_host %o, none -> i64[4] {3, 1, -1, -3}
%start2 = host_to_device f64[] {0.5}
%step2 = host_to_device f64[] {0.25}
%o2 = empty [3], f64
%o2 = arange %start2, %step2, 3, %o2
device_to_host %o2, none -> f64[3] {0.5, 0.75, 1.0}
%start3 = host_to_device i64[] {1}
%step3 = host_to_device i64[] {1}
%o3 = empty [0], i64
%o3 = arange %start3, %step3, 0, %o3
device_to_host %o3, none -> i64[0] {}
free %start
free %step
free %o
free %start2
free %step2
free %o2
free %start3
free %step3
free %o3

; type %start i64[]
; type %step i64[]
; type %o i64[4]
; type %start2 f64[]
; type %step2 f64[]
; type %o2 f64[3]
; type %start3 i64[]
; type %step3 i64[]
; type %o3 i64[0]
