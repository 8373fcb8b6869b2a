; Zeros may be read: nothing is odd about it.
%a = zeros [2, 3], i64
%b = zeros [], f32
device_to_host %a, none -> i64[2, 3] {0, 0, 0, 0, 0, 0}
device_to_host %b, none -> f32[] {0.0}
free %a
free %b

; type %a i64[2, 3]
; type %b f32[]
