package helper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/perfevent"
)

// Registers is the perfevent.Sampling.UserRegs mask that makes the most readings Exact: all
// registers that perf samples.
var Registers = arch.Mask(arch.Here.Registers...)

// Options bounds what a Reader may use. Zero fields have the defaults.
type Options struct {
	// VisitTime is how long one visit may take. The default is 1 ms: a virtual machine may
	// need 0.4 ms to read an interpreter's frames.
	VisitTime time.Duration
	// VisitBytes is how many bytes one visit may keep. The default is 16 KiB, the maximum
	// 256 KiB.
	VisitBytes int
	// Share is the part of each CPU's time that the child's thread may use. The default is
	// 0.02. A thread that uses more pauses; see Account.PausedSince.
	Share float64
	// Progress, if not nil, is called by Read every 20 ms. Read has then passed on all readings
	// of samples that are older than before, in nanoseconds of CLOCK_MONOTONIC.
	Progress func(before uint64)
	// Logger receives warnings about what was left out. If it is nil, they are discarded.
	Logger *slog.Logger
}

const (
	defaultVisitTime  = time.Millisecond
	defaultVisitBytes = 16 << 10
	maxVisitBytes     = 256 << 10
	defaultShare      = 0.02

	ringBytes = 512 << 10 // of the kernel's ring of a CPU

	// The memory that the child shares with its caller, for one CPU and for all. Each part
	// must hold what a CPU's thread writes within readInterval.
	maxSharedBytes = 4 << 20
	minSharedBytes = 1 << 20
	maxSharedTotal = 64 << 20
)

// Reading is what one visit read, and how certain that is.
type Reading struct {
	CPU       int
	Time      uint64 // of the sample, in ns of CLOCK_MONOTONIC
	PID, TID  uint32
	Sampling  int                 // index of the sampling that Start, or the followed session, was given
	ip        uint64              // instruction pointer
	regs      perfevent.Registers // none with FollowSession: the caller has the sample itself
	Data      []byte              // what the visitor kept
	Certainty Certainty
	Reason    Reason        // why the reading is not Exact
	Late      time.Duration // from the sample to the end of the read
}

// Reader receives the readings of a child.
type Reader struct {
	session    *perfevent.Session // the Reader's own: switches, and with Start the samples too
	child      *child
	cpus       []int // of the child's threads
	classifier classifier
	progress   func(before uint64) // Options.Progress, may be nil
	pausedCPUs []bool              // whether the events of cpus[i] are paused
	watched    watchedProcesses

	followed     *perfevent.Session // whose samples are visited; nil with Start
	eventChanges int                // followed.Changes() when the child last received its events

	finalAccounts []Account // set by Close
}

// Start opens the samplings on the target and starts a child that visits each sample. Start
// chooses the samplings' registers. visitor is a name from the map that Serve was given, and
// config is passed to its NewVisitor.
//
// The error is a *perfevent.OpenError if the kernel refused an event. CPUs that the kernel
// reserves for one thread each (nohz_full) are not sampled. Package perfevent may have to sample
// the whole system instead of the target: for a kprobe, or if there are more threads than files
// may be open. Other processes' samples are then visited as well.
func Start(target perfevent.Target, samplings []perfevent.Sampling, visitor string, config []byte, opts Options) (*Reader, error) {
	if os.Getenv(childEnv) != "" {
		return nil, errors.New("start the near reader: the program's main function does not call Serve")
	}
	all := append(slices.Clone(samplings), perfevent.Sampling{})
	setup := childSetup{Visitor: visitor, Config: config, SwitchSampling: len(samplings), MaxClass: FIFO,
		Contexts: make([]sampleContext, len(samplings)+1), SkipPIDs: []uint32{uint32(os.Getpid())}}
	for i, s := range samplings {
		all[i].UserRegs, all[i].WakeupEvents = Registers, 1
		setup.Contexts[i] = sampleContextOf(s.Event.IsTracepoint(), s.UserProbe)
	}
	all[len(samplings)] = perfevent.Sampling{Event: perfevent.Software(perfevent.SoftwareContextSwitches), Period: 1, UserRegs: Registers}
	session, err := openSession(target, all, opts)
	if err != nil {
		return nil, err
	}
	setup.Events, setup.Rings = session.Events(), session.RingFiles()
	setup.setLimits(opts)
	r, err := start(setup)
	if err == nil {
		r.session, r.progress = session, opts.Progress
		err = session.Enable()
	}
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return r, nil
}

// openSession opens samplings in rings that the child reads. The last sampling must be that of
// context switches.
func openSession(target perfevent.Target, samplings []perfevent.Sampling, opts Options) (*perfevent.Session, error) {
	nohzFull, err := perfevent.NohzFullCPUs()
	if err != nil {
		return nil, err
	}
	rings := perfevent.Options{RingBytes: ringBytes, SideBand: perfevent.SideBandNames, Switches: new(perfevent.Switches),
		ExternalReader: true, ExcludeCPUs: nohzFull, Logger: opts.Logger}
	session, err := perfevent.Open(target, samplings, rings)
	if errors.Is(err, perfevent.ErrKernelExcluded) {
		// Switches are sampled in the kernel. Without that no reading is Exact, but the
		// caller's samplings may still work. If they do not, the error is about them.
		samplings[len(samplings)-1].ExcludeKernel = true
		session, err = perfevent.Open(target, samplings, rings)
	}
	return session, err
}

// setLimits sets the limits from opts, and the size of the shared memory.
func (s *childSetup) setLimits(opts Options) {
	s.VisitTime, s.VisitBytes, s.Share = opts.VisitTime, opts.VisitBytes, opts.Share
	if s.VisitTime <= 0 {
		s.VisitTime = defaultVisitTime
	}
	if s.VisitBytes <= 0 {
		s.VisitBytes = defaultVisitBytes
	}
	s.VisitBytes = min(s.VisitBytes, maxVisitBytes)
	if s.Share <= 0 {
		s.Share = defaultShare
	}
	size := maxSharedBytes
	for size > minSharedBytes && size*len(s.Rings) > maxSharedTotal {
		size /= 2
	}
	s.SharedBytes = ringHeaderSize + size
}

// start starts the child and returns a Reader without a session.
func start(setup childSetup) (*Reader, error) {
	c, err := startChild(setup)
	if err != nil {
		return nil, err
	}
	r := &Reader{child: c, classifier: classifier{cpus: make([]cpuSwitches, len(setup.Rings))}, pausedCPUs: make([]bool, len(setup.Rings))}
	for _, ring := range setup.Rings {
		r.cpus = append(r.cpus, ring.CPU)
	}
	return r, nil
}

// PID returns the child's process id, so that the caller can exclude the child from what it
// measures.
func (r *Reader) PID() int { return r.child.cmd.Process.Pid }

// readInterval is how often Read looks at the shared memory.
const readInterval = 20 * time.Millisecond

// Read calls handle with each reading, in order of time and some tens of milliseconds after the
// sample. handle may keep the reading. Read returns nil when ctx is done and all readings up to
// then were handled. It returns an error as soon as handle does, or if the child has ended.
func (r *Reader) Read(ctx context.Context, handle func(*Reading) error) error {
	tick := time.NewTicker(readInterval)
	defer tick.Stop()
	var end uint64 // if ctx is done: Read waits for the readings of samples before this time
	for {
		r.drain()
		for _, p := range r.classifier.takeClassified() {
			if err := handle(&p.Reading); err != nil {
				return err
			}
		}
		if r.progress != nil {
			r.progress(r.classifier.completeBefore())
		}
		if err := r.updateEvents(); err != nil {
			return err
		}
		if end == 0 {
			if err := r.pauseEvents(); err != nil {
				return err
			}
		} else if r.classifier.knownUntil() > end {
			return nil
		}
		select {
		case <-r.child.exited:
			return fmt.Errorf("the near reader has ended: %v%s", r.child.cmd.ProcessState, r.child.stderrText())
		case <-tick.C:
		}
		if ctx.Err() != nil && end == 0 {
			if r.session != nil {
				if err := r.session.Disable(); err != nil {
					return err
				}
			}
			end = perfevent.Now()
		}
	}
}

// drain moves what the child's threads have written to the classifier.
func (r *Reader) drain() {
	for i := range r.child.rings {
		ring := &r.child.rings[i]
		cpu := &r.classifier.cpus[i]
		// Loaded before the entries are read: the thread may write more of them meanwhile.
		progress := atomic.LoadUint64(&ring.progress)
		for e, rest := ring.next(); e != nil; e, rest = ring.next() {
			switch e.kind {
			case visitEntry:
				r.classifier.pending = append(r.classifier.pending, newPendingReading(r.cpus[i], e, rest))
			case switchInEntry:
				cpu.add(switchIn{e.time, e.tid})
			case lostEntry:
				cpu.lost = append(cpu.lost, timeSpan{e.time, e.ended})
			}
			ring.release(e)
		}
		cpu.progress = progress
	}
}

// newPendingReading copies a visit out of the shared memory. rest is what follows its entry.
func newPendingReading(cpu int, e *entry, rest []byte) *pendingReading {
	words, data := splitWords(rest, int(e.regs))
	p := &pendingReading{began: e.began, ended: e.ended, switchedOut: e.switchedOut, next: e.next}
	p.Reading = Reading{CPU: cpu, Time: e.time, PID: e.pid, TID: e.tid, Sampling: int(e.sampling), ip: e.ip,
		Data: append([]byte(nil), data[:e.data]...), Reason: e.reason}
	if len(words) > 0 {
		p.regs = perfevent.Registers{ABI: uint64(e.abi), Mask: Registers, Values: append([]uint64(nil), words...)}
	}
	return p
}

// pauseEvents turns off the events of each CPU whose thread pauses, and turns them on again
// when the thread resumes. It does not touch the events of a session that is followed.
func (r *Reader) pauseEvents() error {
	if r.session == nil || r.followed != nil {
		return nil
	}
	for i := range r.child.rings {
		paused := atomic.LoadUint64(&r.child.rings[i].pausedSince) != 0
		if paused == r.pausedCPUs[i] {
			continue
		}
		if err := r.session.Pause(r.cpus[i], paused); err != nil && !errors.Is(err, unix.ENODEV) {
			return err
		}
		r.pausedCPUs[i] = paused
	}
	return nil
}

// Account says what the child's thread for one CPU did.
type Account struct {
	Counts
	cpu         int
	SchedClass  SchedClass
	PausedSince uint64 // when the current pause began, in ns of CLOCK_MONOTONIC; 0 if the thread does not pause
}

// Accounts returns one account per CPU that is sampled. It may be called after Close.
func (r *Reader) Accounts() []Account {
	if r.finalAccounts != nil {
		return r.finalAccounts
	}
	accounts := make([]Account, len(r.cpus))
	for i := range accounts {
		h := r.child.rings[i].ringHeader
		accounts[i] = Account{cpu: r.cpus[i], SchedClass: SchedClass(atomic.LoadUint64(&h.class)),
			PausedSince: atomic.LoadUint64(&h.pausedSince), Counts: h.counts}
	}
	return accounts
}

// Close ends the child and closes the events. Read must have returned.
func (r *Reader) Close() error {
	r.finalAccounts = r.Accounts()
	err := errors.Join(r.child.close(), r.watched.close())
	if r.session != nil {
		err = errors.Join(err, r.session.Close())
	}
	return err
}
