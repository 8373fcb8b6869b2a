; A transcript that two threads write in no sure order would give challenges of chance.
registers
%v = host_to_device goldilocks[2] {258, 3}
%t = transcript_new 64
%t = absorb %t, %v, %t
fork "t"
%t = absorb %t, %v, %t
join "t"
device_to_host %t, none -> output "t"
free %t
thread "t" {
  %t = absorb %t, %v, %t
}

; error: transcript-order: V19 t/0: absorb (%t): expected ordered accesses to the same bytes, got main/4 writes and t/0 reads elements 0 to 143 (bytes 0 to 144) of %t in any order; order them by an event, a join, or one thread
