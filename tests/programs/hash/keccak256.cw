; The digests of no bytes and of `abc`, as Ethereum has them; with a stride, too.
%a = host_to_device u8[3] {97, 98, 99}
%n = host_to_device u8[0] {}
%o = empty [32], u8
%o = keccak256 %n, %o
device_to_host %o, none -> u8[32] {197, 210, 70, 1, 134, 247, 35, 60, 146, 126, 125, 178, 220, 199, 3, 192, 229, 0, 182, 83, 202, 130, 39, 59, 123, 250, 216, 4, 93, 133, 164, 112}
%o = keccak256 %a, %o
device_to_host %o, none -> u8[32] {78, 3, 101, 122, 234, 69, 169, 79, 199, 212, 123, 168, 38, 200, 214, 103, 192, 209, 230, 227, 58, 100, 160, 54, 236, 68, 245, 143, 161, 45, 108, 69}
free %a
free %n
free %o

; type %a u8[3]
; type %n u8[0]
; type %o u8[32]
