; (1 + 2 x)(3 + x) in Goldilocks' extension by x^2 = 7; a prime field's elements are an extension's;
; the inverse of x of BabyBear's extension by x^4 = 11 is x^3 / 11.
%w = host_to_device u64[2, 2] {1, 2, 3, 1}
%a = empty [2], goldilocks.ext2
%a = from_canonical %w, goldilocks.ext2, %a
%p = empty [], goldilocks.ext2
%p = prod %a, [0], false, %p
%o = empty [2], u64
%o = to_canonical %p, %o
device_to_host %o, none -> u64[2] {17, 7}
%n = host_to_device goldilocks[2] {5, 6}
%e = empty [2], goldilocks.ext2
%e = astype %n, goldilocks.ext2, %e
%e = add %e, %a, %e
%q = empty [2, 2], u64
%q = to_canonical %e, %q
device_to_host %q, none -> u64[2, 2] {6, 2, 9, 1}
%x = host_to_device u64[1, 4] {0, 1, 0, 0}
%b = empty [1], babybear.ext4
%b = from_canonical %x, babybear.ext4, %b
%b = reciprocal %b, %b
%r = empty [1, 4], u64
%r = to_canonical %b, %r
device_to_host %r, none -> u64[1, 4] {0, 0, 0, 549072524}
free %w
free %a
free %p
free %o
free %n
free %e
free %q
free %x
free %b
free %r

; type %w u64[2, 2]
; type %a goldilocks.ext2[2]
; type %p goldilocks.ext2[]
; type %o u64[2]
; type %n goldilocks[2]
; type %e goldilocks.ext2[2]
; type %q u64[2, 2]
; type %x u64[1, 4]
; type %b babybear.ext4[1]
; type %r u64[1, 4]
