; Registers: used before they are surely defined, defined twice, given up while in use, freed by who
; does not own, never freed; unwritten memory; constants that are written.
registers
event "e"
%x = host_to_device i64[2] {1, 2}
fork "t"
copy %x, %late
%a = empty [2], i64
%a = empty [2], i64
copy %x, %a
%v = get_slice %a, [0:1:1]
free %v
forget %a
%b = empty [2], i64
free %b
copy %x, %b
%c = empty [2], i64
%w = get_slice %c, [0:1:1]
free %c
%one = get_slice %x, [0:1:1]
copy %one, %w
%never = empty [2], i64
copy %x, %never
%unwritten = empty [2], i64
copy %unwritten, %never
free %unwritten
free %unwritten
copy %never, %x
free %x
%shared = empty [2], i64
copy %x, %shared
record "e"
free %shared
join "t"
thread "t" {
  %late = empty [2], i64
  wait "e"
  %own = empty [2], i64
  copy %shared, %own
  free %own
  free %late
}

; error: undefined-name: V02 main/2: copy: `out` (%late): expected a definition that always runs before, got t/0, which may run later; wait for an event that is recorded after the definition
; error: redefinition: V03 main/4: empty (%a): expected an empty register, got a register that main/3 defined; deallocate or remove it first, or use another name
; error: not-the-owner: V05 main/7: free (%v): expected the register that allocated, got a view of %a; remove the register; its owner frees the memory
; error: leak: V06 main/8: forget (%a): expected a register of a view, got the owner of memory; deallocate it instead
; error: use-after-free: V04 main/11: copy: `out` (%b): expected a live tensor, got a tensor freed at main/10; move the free after the last use
; error: use-after-free: V04 main/16: copy (%w): expected allocated memory, got memory that main/14 gave back; move the free after the last use of all its views
; error: leak: V06 main/17: empty (%never): expected a Deallocate, Store or Return of the memory, got none; deallocate it, or let the builder free at the last use
; error: unwritten-read: V02 main/20: copy: `a` (%unwritten): expected a tensor that was written, got unwritten memory; write it first, or allocate it with zeros
; error: double-free: V05 main/22: free (%unwritten): expected a live tensor, got a tensor freed at main/21; free a name once
; error: read-only: V05 main/23: copy (%x): expected the program's own memory, got a constant or input; copy it into an allocation, or declare the input as consumed
; error: not-the-owner: V05 main/24: free (%x): expected the register that allocated, got a constant or input; remove the register; the program does not own borrowed memory
; error: use-after-free: V04 main/26: copy: `a` (%x): expected a live tensor, got a tensor freed at main/24; move the free after the last use
; error: use-after-free: V04 t/3: copy: `a` (%shared): expected a live tensor, got a tensor freed at main/28; move the free after the last use
