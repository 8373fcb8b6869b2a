; Sizes are integers of 0 or more, at most 16 of them, of tensors that a machine can hold.
%a = empty [-1], i64
%b = empty [0:2:1], i64
%c = empty [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], i64
%d = empty [4611686018427387904, 4], i64
%e = empty [281474976710656], i64
%f = empty [2], 5
%g = empty [2]
empty [2], i64
%h = empty [invalid "1.5"], i64

; error: shape: step 0: empty: `shape`: expected sizes of 0 or more, got -1
; error: shape: step 1: empty: `shape`: expected sizes of 0 or more, got 0:2:1
; error: shape: step 2: empty: `shape`: expected at most 16 axes and 2^48 elements, got rank 17, above the limit of 16
; error: shape: step 3: empty: `shape`: expected at most 16 axes and 2^48 elements, got shape [4611686018427387904, 4], of more than 2^48 elements
; error: limits: step 4: empty: expected a tensor of at most 2^47 bytes, got i64[281474976710656]
; error: argument-type: step 5: empty: `dtype`: expected an element type, got the integer 5
; error: argument-count: step 6: empty: expected 2 or 3 arguments, got 1; in order: shape, dtype; or shape, dtype, device
; error: argument-type: step 7: empty: `result`: expected a name for the result, got none
; error: argument-type: step 8: empty: `shape`: expected integers and slices, got 1.5
