; Some of a buffer may be coefficients and some values: each part is used as what it is, and the
; whole as neither, until it is transformed, written over or cast.
registers
%x = host_to_device input "x" goldilocks[2, 4] as "lagrange"
%y = host_to_device input "y" goldilocks[2, 4] as "coef"
%z = empty [2, 4], goldilocks
%a = empty [2, 4], goldilocks
%z0 = get_slice %z, [0, 0:4:1]
%z1 = get_slice %z, [1, 0:4:1]
%x0 = get_slice %x, [0, 0:4:1]
%x1 = get_slice %x, [1, 0:4:1]
%y0 = get_slice %y, [0, 0:4:1]
%r = empty [4], goldilocks
copy %y0, %z0
copy %x1, %z1
multiply %z1, %x1, %r
multiply %z0, %x0, %r
multiply %x, %z, %a
copy %z, %a
field_ntt %z0, 0, none, 0, %r
copy %r, %z0
multiply %x, %z, %a
%w = empty [2, 4], goldilocks
%w0 = get_slice %w, [0, 0:4:1]
%w1 = get_slice %w, [1, 0:4:1]
copy %y, %w
field_ntt %w1, 0, none, 0, %r
copy %r, %w1
%v = as_repr %w, 2
multiply %x, %v, %a
add %w, %x, %a
copy %x0, %w0
multiply %x, %w, %a
forget %v
forget %w0
forget %w1
forget %x0
forget %x1
forget %y0
forget %z0
forget %z1
free %r
free %z
free %w
free %a
forget %x
forget %y

; error: repr: V07 main/13: multiply: `b` (%x0): expected coefficients (coef), got values at points (lagrange); transform it (ntt, intt), or cast it (as_repr, or a View of kind coef or lagrange)
; error: repr: V07 main/14: multiply: `b` (%z): expected a polynomial of one form, got both forms: coefficients (coef) written at main/10, values at points (lagrange) at main/11; transform the one part (ntt, intt), or cast the whole (as_repr, or a View of kind coef or lagrange)
; error: repr: V07 main/15: copy: `a` (%z): expected a polynomial of one form, got both forms: coefficients (coef) written at main/10, values at points (lagrange) at main/11; transform the one part (ntt, intt), or cast the whole (as_repr, or a View of kind coef or lagrange)
; error: repr: V07 main/27: add: `a` (%w): expected a polynomial of one form, got both forms: coefficients (coef) written at main/22, values at points (lagrange) at main/24; transform the one part (ntt, intt), or cast the whole (as_repr, or a View of kind coef or lagrange)
