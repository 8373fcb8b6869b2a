; One limb is divided away, so that there must be two.
%a = host_to_device i64[1, 4, 2] iota
%q = host_to_device i64[3] {13, 17, 97}
%t = host_to_device i64[3, 4] iota
%two = host_to_device i64[2] iota
%one = host_to_device i64[1] iota
%hat = host_to_device i64[2, 3] iota
%down = host_to_device i64[1, 2] iota
%wide = host_to_device i64[1, 4, 3] iota
%odd = host_to_device i64[1, 3, 2] iota
%narrow = host_to_device i32[3] {13, 17, 97}
%bad = host_to_device i64[4] {0, 1, 1, 3}
%o = empty [1, 4, 2], i64
%thin = get_slice %wide, [0:1:1, 0:4:1, 0:1:1]
%tq = get_slice %q, [0:1:1]
%tt = get_slice %t, [0:1:1, 0:4:1]
%e1 = rescale %thin, %tq, %tt, %tt, none, %one, %one, %down, %two, %o
%e2 = rescale %wide, %q, %t, %t, none, %two, %one, %down, %two, %o
%e3 = rescale %wide, %q, %t, %t, none, %one, %one, %hat, %two, %o
%e4 = rescale %wide, %q, %t, %t, none, %one, %one, %down, %one, %o
%e5 = rescale %wide, %q, %t, %t, none, %one, %one, %down, %two, %wide
free %thin
free %tq
free %tt
free %o
free %a
free %q
free %t
free %two
free %one
free %hat
free %down
free %wide
free %odd
free %narrow
free %bad

; error: shape: step 15: rescale: `a` (%thin): expected at least two limbs, got [1, 4, 1]
; error: shape: step 16: rescale: `scale` (%two): expected shape [1], got [2]
; error: shape: step 17: rescale: `hat` (%hat): expected shape [1, 2], got [2, 3]
; error: shape: step 18: rescale: `inverse` (%one): expected shape [2], got [1]
; error: shape: step 19: rescale: `out` (%wide): expected i64[1, 4, 2], got i64[1, 4, 3]
; error: aliasing: step 19: rescale: `a` (%wide): expected none of the elements of `out`, got some of the elements of `out`; write into another tensor
