; Words of canonical numbers become elements, and back; p - 1 is -1.
%w = host_to_device u64[2, 4] {7, 0, 0, 0, 4891460686036598784, 2896914383306846353, 13281191951274694749, 3486998266802970665}
%a = empty [2], bn254.fr
%a = from_canonical %w, bn254.fr, %a
%s = empty [2], bn254.fr
%s = square %a, %s
%o = empty [2, 4], u64
%o = to_canonical %s, %o
device_to_host %o, none -> u64[2, 4] {49, 0, 0, 0, 1, 0, 0, 0}
free %w
free %a
free %s
free %o

; type %w u64[2, 4]
; type %a bn254.fr[2]
; type %s bn254.fr[2]
; type %o u64[2, 4]
