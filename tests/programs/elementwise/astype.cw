; Other types: fractions and what does not fit are cut off, imaginary parts too.
%a = host_to_device f64[3] {1.9, -1.9, 0.0}
%o = empty [3], i64
%o = astype %a, i64, %o
device_to_host %o, none -> i64[3] {1, -1, 0}
%a2 = host_to_device i64[2] {300, -1}
%o2 = empty [2], u8
%o2 = astype %a2, u8, %o2
device_to_host %o2, none -> u8[2] {44, 255}
%a3 = host_to_device f64[4] {0.0, -0.0, 0.5, 0x7ff8000000000000}
%o3 = empty [4], bool
%o3 = astype %a3, bool, %o3
device_to_host %o3, none -> bool[4] {0, 0, 1, 1}
%a4 = host_to_device c128[1] {3.0, 4.0}
%o4 = empty [1], f64
%o4 = astype %a4, f64, %o4
device_to_host %o4, none -> f64[1] {3.0}
%a5 = host_to_device i32[1] {7}
%o5 = empty [1], c64
%o5 = astype %a5, c64, %o5
device_to_host %o5, none -> c64[1] {7.0, 0.0}
%a6 = host_to_device bool[2] {1, 0}
%o6 = empty [2], f32
%o6 = astype %a6, f32, %o6
device_to_host %o6, none -> f32[2] {1.0, 0.0}
free %a
free %o
free %a2
free %o2
free %a3
free %o3
free %a4
free %o4
free %a5
free %o5
free %a6
free %o6

; type %a f64[3]
; type %o i64[3]
; type %a2 i64[2]
; type %o2 u8[2]
; type %a3 f64[4]
; type %o3 bool[4]
; type %a4 c128[1]
; type %o4 f64[1]
; type %a5 i32[1]
; type %o5 c64[1]
; type %a6 bool[2]
; type %o6 f32[2]
