// Package near reads the memory of a thread at the moment of a sample, and knows of each
// reading whether it was exact. It needs no BPF.
//
// A sample wakes a thread that is pinned to the same CPU and has a real-time priority, so
// that it runs before the sampled thread returns to user mode. What a Visitor reads then is
// what was there at the sample: text of any length, lists, the frames of an interpreter, the
// stack beyond what a sample can carry.
//
// # The data's way
//
//	caller                           helper: the same program, run once more
//	Start ── events, one ring a CPU ──→ a thread a CPU maps its ring      thread.go
//	                                    sample → Visitor.Visit            visit.go
//	                                    what follows it in the ring       witness.go
//	Read ←── shared memory, a ring a CPU ── the visit, and switches       handover.go
//	  judge: were there switches meanwhile? → Reading with its Verdict    witness.go
//
// Start opens the events and hands the descriptors of the rings to the helper. Its threads
// are the only readers of the rings, each of its CPU's. A thread writes the visits, and
// all switches to threads that it sees, to memory that the caller reads every 20 ms. A visit
// gets its verdict when the switches of all CPUs up to its end are known: a tenth of a
// second later at most, as each thread looks at its ring that often.
//
// StartBeside visits the samples of a session that somebody else reads: the threads follow its
// rings, and have the witness in rings of their own, for the processes that are watched.
//
// # The witness
//
// Beside the samplings each ring has the switches away from the target's threads, with their
// user registers, and the switches to them. A reading is Exact if
//
//   - the next sample in the ring is that of the switch away from the sampled thread, with
//     the same registers: no user code ran between the two;
//   - that was before the read began;
//   - no CPU switched to the thread from then until the end of the read;
//   - no record is missing that could say otherwise.
//
// The kernel says that a record had no room only with the next one that has. So where a ring was
// full, records are missing whether it says so or not, until the thread that reads the ring has
// emptied it and looked at it once more.
//
// A system call that was sampled may have written its result to its register by then. At a
// user probe (perfevent.Sampling.UserProbe) the kernel may have carried out the probed instruction,
// have sent a return or a nop of 5 bytes on its way, or be about to step over a copy of the instruction.
// The copy may have an address in a register of the thread, which must be that of the next instruction.
//
// Exact is about the sampled thread. Its memory may still be changed by other threads and by
// devices. Nothing is known of CPUs that the kernel leaves to one thread each (nohz_full),
// where nothing is opened.
//
// # Why a helper
//
// Under SCHED_FIFO a thread must not wait for others, and Go's runtime makes it: measured on
// two CPUs with a load of 10, a reader in a program that collected garbage all the time spun
// once for 148 ms and had 39 % of its readings exact; without a collector 99.7 %. The
// runtime's monitor interrupted up to 8 % of the visits at 99 Hz. The helper collects no
// garbage, and its threads are out of the scheduler's hands (detach.go): 16,037 of 16,037.
//
// The helper is this program: its main function calls Serve before anything else. It
// ends when its caller does, however that comes about. It is in a session of its
// own, so that a terminal's signals do not reach it.
//
// # The host comes first
//
// A thread that uses more than Options.Share of its CPU rests, and the CPU's events are
// off meanwhile: Account.Resting says since when, so that the caller can fall back. That
// bounds storms of samples, and everything else that would keep a thread running. (999
// samples a second take 2 to 4 % of a CPU, 99 up to 1 %.) A visit
// ends after Options.VisitTime. Real-time threads are left alone, and so are the caller and
// the helper. Where rights are missing a lower rung is used, see Rung. An ordinary user,
// who may not have the kernel's events, has no witness: all readings are Near.
//
// A page that has to come from a disk, or that another program is to supply (userfaultfd),
// holds the thread of a CPU up; after two seconds the helper ends, and Read says so.
package near
