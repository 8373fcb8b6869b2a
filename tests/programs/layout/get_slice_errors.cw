; One entry an axis, in range, counted from the front.
%a = host_to_device i64[3, 4] iota
%b = get_slice %a, [0]
%c = get_slice %a, [3, 0]
%d = get_slice %a, [-1, 0]
%e = get_slice %a, [2:2:1, 0]
%f = get_slice %a, [0:4:1, 0]
%g = get_slice %a, [0:3:0, 0]
%h = get_slice %a, [:3:1, 0]
%i = get_slice %a, [..., 0]
%j = get_slice %a, [invalid "a text", 0]
free %a

; error: argument-count: step 1: get_slice: `entries`: expected one entry an axis, got 1 entries for 2 axes
; error: range: step 2: get_slice: `entries`: expected indices inside the axis, got index 3 for axis 0 of size 3
; error: range: step 3: get_slice: `entries`: expected indices of 0 or more, got -1; write the index from the front: size + index
; error: range: step 4: get_slice: `entries`: expected indices inside the axis, got slice 2:2:1 for axis 0 of size 3
; error: range: step 5: get_slice: `entries`: expected indices inside the axis, got slice 0:4:1 for axis 0 of size 3
; error: range: step 6: get_slice: `entries`: expected indices inside the axis, got slice 0:3:0 for axis 0 of size 3
; error: range: step 7: get_slice: `entries`: expected start, stop and step of 0 or more, got none:3:1; write all three: 0:size:1 is the whole axis
; error: range: step 8: get_slice: `entries`: expected an entry for each axis, got ...; write 0:size:1 for each axis
; error: argument-type: step 9: get_slice: `entries`: expected integers and slices, got a text
