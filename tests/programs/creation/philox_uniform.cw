; Random123's published words for a key and a counter of 0, as fractions.
%key = host_to_device u64[2] {0, 0}
%o = empty [2, 2], f32
%o = philox_uniform %key, [2, 2], f32, %o
device_to_host %o, none -> f32[2, 2] {0.39904642, 0.88052016, 0.73571277, 0.6054818}
%key2 = host_to_device u64[2] {0, 0}
%o2 = empty [2], f64
%o2 = philox_uniform %key2, [2], f64, %o2
device_to_host %o2, none -> f64[2] {0.39904647231489565, 0.7357127860596914}
free %key
free %o
free %key2
free %o2

; type %key u64[2]
; type %o f32[2, 2]
; type %key2 u64[2]
; type %o2 f64[2]
