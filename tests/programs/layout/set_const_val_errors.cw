; The element type holds the value.
%a = empty [2], i8
%b = empty [2], bool
set_const_val %a, 128
set_const_val %b, 2
set_const_val %c, 2
set_const_val 3, 2
free %a
free %b

; error: range: step 2: set_const_val: `value`: expected an integer that i8 holds, got 128
; error: range: step 3: set_const_val: `value`: expected 0 or 1, got 2
; error: undefined-name: step 4: set_const_val: `a` (%c): expected a tensor that is defined before, got an undefined tensor; upload or allocate it first, or correct the name
; error: argument-type: step 5: set_const_val: `a`: expected a device tensor, got the integer 3
