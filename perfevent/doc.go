// Package perfevent opens Linux perf events and reads what they record: it is
// the way from "sample this, there" to a stream of decoded records in time
// order, with books that balance.
//
//	target, samplings → Open → Enable → Read(handle) → Accounts → Close
//	                         → OpenRecent → Start → Stop → Read
//
// # The data's way
//
// Open attaches one event per sampling to the target on every online CPU
// (attach.go), and beside them a dummy event that counts nothing but carries
// the records about processes: mappings, names, births and ends (the
// "side-band"). All events of a CPU write into one ring that the first of them
// owns (mmap.go). The side-band records from Open on, samplings from Enable on;
// so a caller that reads /proc between the two misses no mapping.
//
// Read waits until any ring is a quarter full or 200 ms have gone by (poll.go),
// looks at the heads of all rings, and merges the records that are due
// (merge.go, with the invariant that makes the order right). Each is decoded
// where it lies in the ring (decode.go); only one that wraps around the ring's
// end is copied. Then it passes the stages that the target and the events need
// (stages.go): what is not the target's is dropped (filter.go), and what comes by two
// events (duplicates.go). The kernel gets the space back after the caller's function has
// returned, so a record is valid exactly until then and nothing is allocated. With
// Reader.Spool the rings are read on a goroutine of their own and the records
// copied (spool.go, batch.go), so that a caller that is held up for a while loses
// none; Reader.BeforeSpool spares the copies of records that take no time. Where CPUs are
// scarce its thread comes before others while a ring is more than half full (nice.go).
//
// With Options.HandOver nobody calls Read: RingFiles are the rings for another process,
// which maps them (MapRing) and has the records as the kernel wrote them. Package near does so.
//
// Decoding needs no session: Reader.Raw is offered each record's bytes, and a Decoder
// that is given Session.Events turns them into the same records later, elsewhere
// (decoder.go).
//
// Counters is the other, shorter way: any number of events that are counted and
// not recorded, without rings (counters.go). They cannot tell what comes twice.
//
// # User probes
//
// A Uprobe is gone with its descriptors, but each event of it is a consumer of
// its own that costs at every hit, and closing one takes the kernel 10 to 100 ms;
// it cannot be inherited (uprobe.go says why, and what happened to the target).
// A uprobe of tracefs is a Tracepoint here: one consumer for all events, with
// fields that Sampling.Filter can ask. The kernel asks before it counts, so that
// what a filter keeps out is in no number of an Account; an inherited event
// inherits its filter.
//
// Under a storm of hits a copy of the stack should be small. GrowStack replaces
// the events of samplings by others with a larger copy while they run (grow.go
// opens them, growth.go has the change and its argument, children.go the children that
// must be opened as well).
//
// # Kernel probes
//
// A Kprobe, FunctionEntry and a Breakpoint in the kernel are three ways to a
// function of the kernel; a kprobe of tracefs is a fourth, and a Tracepoint here.
// The first two must not be inherited, and on arm64 no thread has the third: for a
// process the whole system is watched then, and what others do is left out. What
// the kernel misses because it is in a probe already is in no Account.
//
// # What came before
//
// A Recent is the samplings of a session once more, in rings of their own that the
// kernel writes over and over (overwrite.go; overwrite_ring.go has how they are
// read). Nobody reads them until something has happened that makes one ask what came
// before it. The records about processes are not among them: those of the session
// go on all the time, so that all processes are known then.
//
// # What holds
//
//   - Times are CLOCK_MONOTONIC nanoseconds, and do not decrease from one
//     record to the next but for what Stats.OrderBreaks counts.
//   - For a sampling with period 1, samples received and samples lost add up to
//     the kernel's own count: see Account.
//   - A record that makes no sense is counted and skipped; it cannot make the
//     reader fail or read outside the ring.
//   - Every sample starts with its id, IP, thread and time, every other record
//     ends with thread, time, CPU and id. The decoder and the merger rely on
//     these fixed places.
//
// # What is inherited
//
// A process's events are inherited by the threads and children it has later,
// not by those that it has already; each existing thread gets events of its
// own, on each CPU. If that takes more file descriptors than there may be, and
// the caller has the privileges, the whole system is watched and filtered.
// Children that exist when the session is opened belong to the target only if
// they are named. A CPU that comes online later is not watched.
//
// # Software counters that several watch
//
// On newer kernels (6.18 was seen) the samples of one page fault, context switch
// or the like that go to several events carry the id, the time and the callchain
// of whichever event comes first, even when the others are another program's. Such
// samples are recognized (Sampling.isShared, duplicates.go) as long as a session
// has no more than one sampling of these counters; with more, a sample may be
// given to the wrong one or be dropped as malformed. Clocks, hardware events,
// tracepoints and breakpoints are not concerned.
//
// # Why go-perf, and why not only go-perf
//
// Events are configured with github.com/elastic/go-perf's Attr and
// configurators, which hold the knowledge of event types and numbers. They are
// then translated (attr.go) and opened through x/sys/unix, since go-perf cannot
// say what is needed here: records of cgroups, lost counts per event
// (PERF_FORMAT_LOST), and precise_ip, whose second bit it drops. It cannot take
// over an event that was opened elsewhere, so the rings are mapped here as well; its own reader starts a goroutine and an OS thread
// per ring. Its decoder is not used: it allocates several times per record,
// panics on samples of kernel threads with registers, and takes the times of
// mmap and comm records from the wrong place.
//
// The mmap records' build ids (attr.build_id) are decoded but not asked for:
// the kernel puts them in the place of the device and inode, which tell apart
// files that have been replaced and need no reading of the file at each mmap.
package perfevent
