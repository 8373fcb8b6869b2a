; Coefficients and values do not mix: what an allocation says, what ops give, what a cast says.
registers
%x = host_to_device input "x" goldilocks[4] as "lagrange"
%s = host_to_device input "s" goldilocks[]
%c = empty [4], goldilocks as "coef"
%v = empty [], goldilocks
evaluate %x, %s, %v
copy %x, %c
field_ntt %x, 1, none, 1, %c
add %c, %s, %c
%w = as_repr %c, 2
add %w, %s, %w
device_to_host %c, none -> output "c" as "lagrange"
forget %w
free %c
free %v
forget %x
forget %s

; error: repr: V07 main/4: evaluate: `a` (%x): expected coefficients (coef), got values at points (lagrange); transform it (ntt, intt), or cast it (as_repr, or a View of kind coef or lagrange)
; error: repr: V07 main/5: copy: `out` (%c): expected coefficients (coef), got values at points (lagrange); transform the operand (ntt, intt), cast it, or write it into memory of its own form
; error: repr: V07 main/7: add: `b` (%s): expected a polynomial: the other operand is coefficients, got a scalar; add it to the first coefficient alone (add_constant, or scalar_at "constant_term"), or transform to values first
