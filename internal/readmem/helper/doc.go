// Package helper reads a thread's memory at a perf sample, and reports whether the memory was
// still what it was at the sample. It does not need BPF.
//
// A program that uses it looks like this (example_test.go is complete and runs):
//
//	func main() {
//		helper.Serve(map[string]helper.NewVisitor{"stack top": newStackTop}) // before anything else
//		...
//		reader, err := helper.Start(target, samplings, "stack top", nil, helper.Options{})
//		...
//		err = reader.Read(ctx, func(r *helper.Reading) error {
//			if r.Certainty == helper.Exact {
//				use(r.Data) // what the visitor kept
//			}
//			return nil
//		})
//		err = reader.Close()
//	}
//
// Start runs the same program again as a child process, which ps shows as near-reader. The
// child has one thread per CPU, pinned to that CPU and with real-time priority. A sample wakes
// the thread of its CPU, so that thread runs before the sampled one returns to user mode. It
// calls a Visitor, which reads what it needs: text of any length, lists, an interpreter's
// frames, or more of the stack than a sample can carry.
//
// # Data flow
//
//	caller                               child: one thread per CPU
//	Start ───── ring descriptors ──────→ map the CPU's ring             thread.go
//	                                     sample → Visitor.Visit         visitor.go, visit.go
//	                                     the switch after the sample    registers.go
//	Read  ←── shared memory, per CPU ─── visits, context switches       sharedring.go
//	  └ did the thread run meanwhile? → Reading                         classify.go
//
// Start opens the events and passes the descriptors of their rings to the child. Each ring has
// one reader, the child's thread for that CPU. The thread writes its visits, and every switch
// to a thread of the target, to memory that Read looks at every 20 ms. Read classifies a visit
// once it knows the switches of all CPUs up to the visit's end. That takes at most a tenth of a
// second, because every thread looks at its ring at least every 20 ms.
//
// FollowSession visits the samples of a session that the caller reads itself. The child's
// threads then read two rings each: they follow the session's ring for samples, and have a ring
// of their own for context switches. Switches are recorded only for the processes that are
// watched; see Reader.Watch.
//
// # Exact readings
//
// Besides samples, each ring holds a sample of every switch away from a thread of the target,
// with the thread's user registers, and a record of every switch to one. A reading is Exact if
// all of these are true:
//
//   - The next sample in the ring is that of the switch away from the sampled thread, with
//     the same registers. So no user code ran between the two.
//   - The switch came before the read began.
//   - No CPU switched to the thread between that switch and the end of the read.
//   - No record is missing that could show otherwise.
//
// The kernel reports records that did not fit in a ring only with the next record that does
// fit. So if a ring was full, records count as missing until its reader has emptied the ring
// and looked at it once more.
//
// Two changes of registers are allowed although no user code ran:
//
//   - A system call that was sampled may have written its result by the time of the switch.
//   - At a user probe (perfevent.Sampling.UserProbe) the kernel handles the probed instruction
//     in one of several ways; see probeEffect.
//
// Exact says something about the sampled thread only. Other threads and devices may change its
// memory during the read. No events are opened on CPUs that the kernel reserves for one thread
// each (nohz_full), so switches there are not seen.
//
// # Why a child process
//
// A thread with SCHED_FIFO must not wait for other threads, but Go's runtime makes threads wait.
// Measured on two CPUs with a load of 10: in a program that collected garbage all the time, the
// reading thread once spun for 148 ms, and 39 % of the readings were exact. Without garbage
// collection 99.7 % were exact, and the runtime's monitor (sysmon) interrupted up to 8 % of the
// visits at 99 Hz. The child never collects garbage, and its threads are not in the hands of
// Go's scheduler (detach.go): 16,037 of 16,037 readings were exact.
//
// The child ends when its caller ends, for whatever reason. It has a session of its own
// (setsid(2)), so that signals from a terminal do not reach it.
//
// # Limits
//
// A child's thread that uses more than Options.Share of its CPU pauses. With Start, the CPU's
// events are off during the pause. Account.PausedSince says when the pause began, so that the
// caller can fall back to something else. This bounds the cost of very frequent samples, and of
// anything else that keeps a thread running. (999 samples per second take 2 to 4 % of a CPU, 99 up
// to 1 %.) A visit ends after Options.VisitTime.
//
// Threads with a real-time policy, the caller and the child are never visited. If the caller
// has no right to real-time priority, the threads run with a lower SchedClass. An ordinary user
// may not have samples from kernel mode, so switches are not seen and all readings are Near.
//
// A page that has to come from a disk, or that another program has to supply (userfaultfd(2)),
// blocks the thread that reads it. The child ends if that takes two seconds, and Read returns
// an error.
package helper
