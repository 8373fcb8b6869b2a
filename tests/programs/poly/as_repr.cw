; A cast: the transform is told that these are values, and what it gives is coefficients, of which
; a product element by element is no product of polynomials.
%i = host_to_device i64[2] {3, 1}
%a = empty [2], goldilocks
%a = astype %i, goldilocks, %a
%v = as_repr %a, 2
%c = empty [2], goldilocks
%c = field_ntt %v, 1, none, 1, %c
%w = as_repr %c, 0
%d = empty [2], goldilocks
%d = multiply %w, %w, %d
%o = empty [2, 1], u64
%o = to_canonical %d, %o
device_to_host %o, none -> u64[2, 1] {4, 1}
free %i
free %a
free %v
free %c
free %w
free %d
free %o

; type %i i64[2]
; type %a goldilocks[2]
; type %v goldilocks[2]
; type %c goldilocks[2]
; type %w goldilocks[2]
; type %d goldilocks[2]
; type %o u64[2, 1]
