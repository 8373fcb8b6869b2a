; Normal numbers of a key: of the asked shape and type; the same again for the same key.
%key = host_to_device u64[2] {1, 2}
%o = empty [2, 3], f64
%o = philox_normal %key, [2, 3], f64, %o
%again = empty [2, 3], f64
%again = philox_normal %key, [2, 3], f64, %again
%same = empty [2, 3], bool
%same = equal %o, %again, %same
device_to_host %same, none -> bool[2, 3] {1, 1, 1, 1, 1, 1}
device_to_host %o, none -> output "o"
free %key
free %o
free %again
free %same

; type %key u64[2]
; type %o f64[2, 3]
; type %again f64[2, 3]
; type %same bool[2, 3]
