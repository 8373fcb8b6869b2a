; What a cast says holds for what follows: coefficients are not multiplied element by element, nor
; added to values, and no scalar is added to all of them; values are not evaluated.
%i = host_to_device i64[2] {3, 1}
%a = empty [2], goldilocks
%a = astype %i, goldilocks, %a
%s = empty [], goldilocks
%n = host_to_device i64[] {5}
%s = astype %n, goldilocks, %s
%v = as_repr %a, 2
%c = as_repr %a, 1
%o1 = empty [2], goldilocks
%o1 = multiply %c, %c, %o1
%o2 = empty [2], goldilocks
%o2 = square %c, %o2
%o3 = empty [2], goldilocks
%o3 = add %c, %v, %o3
%o4 = empty [2], goldilocks
%o4 = add %c, %s, %o4
%o5 = empty [2], goldilocks
%o5 = field_ntt %v, 0, none, 1, %o5
%o6 = empty [], goldilocks
%o6 = evaluate %v, %s, %o6
%o7 = empty [2], goldilocks
%o7 = reciprocal %c, %o7
%o8 = empty [2], goldilocks
%o8 = kate_div %v, %s, 1, %o8
free %i
free %a
free %s
free %n
free %v
free %c
free %o1
free %o2
free %o3
free %o4
free %o5
free %o6
free %o7
free %o8

; error: repr: step 9: multiply: `b` (%c): expected a scalar, or values in both operands, got coefficients (coef); transform it (ntt, intt), or cast it (as_repr, or a View of kind coef or lagrange)
; error: repr: step 11: square: `a` (%c): expected values at points (lagrange), got coefficients (coef); transform it (ntt, intt), or cast it (as_repr, or a View of kind coef or lagrange)
; error: repr: step 13: add: `b` (%v): expected coefficients (coef), got values at points (lagrange); transform it (ntt, intt), or cast it (as_repr, or a View of kind coef or lagrange)
; error: repr: step 15: add: `b` (%s): expected a polynomial: the other operand is coefficients, got a scalar; add it to the first coefficient alone (add_constant, or scalar_at "constant_term"), or transform to values first
; error: repr: step 17: field_ntt: `a` (%v): expected coefficients (coef), got values at points (lagrange); transform it (ntt, intt), or cast it (as_repr, or a View of kind coef or lagrange)
; error: repr: step 19: evaluate: `a` (%v): expected coefficients (coef), got values at points (lagrange); transform it (ntt, intt), or cast it (as_repr, or a View of kind coef or lagrange)
; error: repr: step 21: reciprocal: `a` (%c): expected values at points (lagrange), got coefficients (coef); transform it (ntt, intt), or cast it (as_repr, or a View of kind coef or lagrange)
; error: repr: step 23: kate_div: `a` (%v): expected coefficients (coef), got values at points (lagrange); transform it (ntt, intt), or cast it (as_repr, or a View of kind coef or lagrange)
