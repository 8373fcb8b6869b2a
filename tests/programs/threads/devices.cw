; Operands on one device, that of the stream; only copies go between two.
registers
stream "s" at "gpu:0"
stream "t" at "gpu:1"
event "e" at "gpu:0"
event "f" at "gpu:1"
%x = host_to_device i64[2] {1, 2}
%a = empty [2], i64 at "gpu:0"
%b = empty [2], i64 at "gpu:1"
%d = empty [2], i64 at "disk"
%nowhere = empty [2], i64 at "tpu:0"
copy %x, %a on "s"
record "e" on "s"
wait "e" on "t"
copy %a, %b on "t"
record "f" on "t"
wait "f"
_modsum_ttc %a, %b, 17, %a
_modsum_ttc %b, %b, 17, %b on "s"
copy %x, %d
_modsum_ttc %d, %d, 17, %d
copy %x, %b on "s"
free %a
free %b
free %d

; error: device: V08 main/4: empty: expected cpu, gpu:<i>, sim:<i>, disk, disk:<i> or a device of a loaded driver, got "tpu:0"; correct the device's name
; error: device: V08 main/11: _modsum_ttc: expected all operands on one device that computes, and a stream of it, got gpu:0, gpu:1; transfer the operands first
; error: device: V08 main/12: _modsum_ttc: expected all operands on one device that computes, and a stream of it, got gpu:1 on a stream of gpu:0; transfer the operands first
; error: device: V08 main/14: _modsum_ttc: expected all operands on one device that computes, and a stream of it, got disk:0; transfer the operands first
; error: device: V08 main/15: copy: expected a copy from or to the stream's device, got gpu:1, cpu on a stream of gpu:0; transfer the operands first
; error: use-after-free: V04 main/17: free (%b): expected ordered accesses to the same bytes, got main/12 reads and main/17 frees elements 0 to 1 (bytes 0 to 16) of %b in any order; order them by an event, a join, or one thread
