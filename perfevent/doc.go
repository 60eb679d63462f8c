// Package perfevent opens Linux perf events and reads their records in time order. It
// accounts for every event: received plus lost equals the kernel's own count.
//
//	target, samplings → Open → Enable → Read(handle) → Accounts → Close
//	                         → OpenRecent → Start → Stop → Read
//
// # How records travel
//
// Open attaches one event per sampling to the target on every online CPU (attach.go). It
// also opens a dummy event, which counts nothing and records what processes do: mappings,
// names, births and exits. These records are the side-band. All events of a CPU write into
// one ring, which the first of them owns (mmap.go). The side-band records from Open on,
// samplings record from Enable on. A caller that reads /proc between the two misses no
// mapping.
//
// Read waits until a ring is a quarter full or 200 ms have passed (poll.go). It looks at
// the heads of all rings and merges the records that are due (merge.go, which states the
// invariant behind the order). Each record is decoded in place (decode.go); only one that
// wraps around the end of its ring is copied. Then it passes the stages that the target and
// the events need (reader.go): one drops records of other processes (pidfilter.go), one
// drops records that arrive twice (duplicates.go). The kernel gets the space back when the
// caller's function returns, so a record is valid until then and nothing is allocated.
//
// With Reader.Spool, a goroutine reads the rings and copies the records (spool.go), so
// that a slow caller loses none. Reader.BeforeSpool takes records that need little work
// without a copy. While a ring is more than half full, the reading thread asks for a higher
// priority (priority.go).
//
// With Options.ExternalReader nobody calls Read. RingFiles returns the rings for another process,
// which maps them (MapRing) and reads the records as the kernel wrote them
// (sharedrings.go). Package helper does so.
//
// Decoding needs no session: Reader.Raw receives the bytes of each record, and a Decoder
// made from Session.Events decodes them later or on another machine (decode.go).
//
// Counters counts any number of events without recording them, and without rings
// (counters.go). It cannot recognize events that are counted twice.
//
// # User probes
//
// The kernel removes a Uprobe when its descriptor closes. Each event of a Uprobe adds its
// own cost to every hit. Closing one takes the kernel 10 to 100 ms, and new threads cannot
// inherit it (probe.go gives the reasons). A uprobe of tracefs is a Tracepoint here: all
// its events together cost little more than one, and Sampling.Filter can test its fields.
// The kernel filters before it counts, so Account.Counted does not include rejected hits.
// An inherited event inherits its filter.
//
// When a probe is hit very often, the copy of the stack should be small. GrowStack replaces
// the events of samplings, while they run, by events with a larger copy (grow.go).
//
// # Kernel probes
//
// A Kprobe, FunctionEntry and a Breakpoint in the kernel are three ways to probe a kernel
// function. A kprobe of tracefs is the fourth, and is a Tracepoint here. The first two must
// not be inherited, and on arm64 a thread cannot have the third. For these, a session on a
// process watches the whole system and drops the records of other processes. An Account
// does not include hits that the kernel misses because it is already handling a probe.
//
// # Recent samples
//
// A Recent holds the samplings of a session a second time, in rings that the kernel
// overwrites continuously (recent.go). Nobody reads them until something happens that makes
// the samples before it interesting. Records about processes are not in these rings: the
// session receives them all the time, so that every process is known when the rings are
// read.
//
// # Guarantees
//
//   - Times are CLOCK_MONOTONIC nanoseconds. They never decrease from one record to the
//     next, except where Stats.OrderBreaks counts it.
//   - For a sampling with period 1, received plus lost samples equal the kernel's own
//     count: see Account.
//   - A malformed record is counted and skipped. It cannot make the reader fail or read
//     outside the ring.
//   - Every sample starts with its id, IP, thread and time. Every other record ends with
//     thread, time, CPU and id. The decoder and the merger rely on these fixed places.
//
// # Inheritance
//
// Threads and children that a process creates later inherit its events. Each existing
// thread gets events of its own, on each CPU. If that takes more file descriptors than the
// limit allows, and the caller has the privileges, the session watches the whole system and
// filters. Children that exist when the session opens belong to the target only if the
// target names them. A CPU that comes online later is not watched.
//
// # Software counters with several watchers
//
// One page fault or context switch may hit several events. On recent kernels (seen on 6.18),
// all their samples carry the id, time and callchain of the first event, even if it belongs
// to another program. A session recognizes such samples (Sampling.isShared, duplicates.go)
// if it has at most one sampling of these counters. With more, a sample may go to the wrong
// sampling or be dropped as malformed. Clocks, hardware events, tracepoints and breakpoints
// are not affected.
//
// # What go-perf does here
//
// Events are configured with Attr and the configurators of github.com/elastic/go-perf,
// which know event types and numbers. This package translates them (attr.go) and opens them
// through x/sys/unix, because go-perf cannot ask for cgroup records or for lost counts per
// event (PERF_FORMAT_LOST), and drops the second bit of precise_ip. go-perf cannot adopt an
// event that was opened elsewhere, so this package maps the rings too; go-perf's reader
// also starts a goroutine and an OS thread per ring. Its decoder allocates several times
// per record, panics on samples of kernel threads with registers, and reads the times of
// mmap and comm records from the wrong place, so it is not used.
//
// The build ids of mmap records (attr.build_id) are decoded but not requested: the kernel
// puts them in the place of the device and inode, which distinguish replaced files without
// reading the file at each mmap.
//
// Profilers: package callchain/stacks joins this package with unwinding and names.
//
// # Files, in reading order
//
//	event, pmu, probe      the kinds of events, and where a probe can be
//	sampling, attr         what samples carry, and the perf_event_attr that asks for it
//	target, command        what is watched, and when it has ended
//	session                options, Open, Enable, Disable and Close
//	attach                 which events are opened on which threads and CPUs
//	openevent              one event is opened, joins a ring and is found by its id
//	mmap, ring             the size of a ring, and how its records are read
//	merge                  the order of records from all rings
//	record, decode         the types of records, and how bytes become records
//	reader, poll, priority the loop of Read, how it waits, and its thread's priority
//	pidfilter, duplicates  which records are dropped
//	spool                  records that wait in memory while the caller is busy
//	account                what was received, lost and counted
//	counters               events that are counted and not recorded
//	grow, kernelcounts     events that are replaced while they run
//	recent                 rings that the kernel overwrites
//	sharedrings            rings that another process reads
//	errors                 why an event cannot be opened
//	unsafe                 all conversions of pointers
package perfevent
