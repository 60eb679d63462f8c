package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/bpftrace/eval"
	"github.com/ringtap/ringtap/internal/bpftrace/live"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
)

// follow runs the program on the machine's events until the program ends or ctx is done. Then it
// reports the hits that the program did not get.
func (s *session) follow(ctx context.Context) error {
	account, err := s.attached.Run(ctx, s)
	all := account.All()
	if all.Lost > 0 {
		s.printer.Lost(all.Lost)
	}
	if s.opts.Verbose {
		for _, why := range s.attached.Unfiltered {
			fmt.Fprintln(s.opts.Stderr, "not filtered by the kernel:", why)
		}
		s.books(&account)
	}
	for _, name := range slices.Sorted(maps.Keys(account.Missed)) {
		fmt.Fprintf(s.opts.Stderr, "WARNING: %s: the kernel missed %d hits: it was handling another probe, or too many calls were in progress\n",
			name, account.Missed[name])
	}
	if account.Unseen > 0 {
		fmt.Fprintf(s.opts.Stderr, "WARNING: %d hits were left out: they still waited when the program ended\n", account.Unseen)
	}
	if account.Hidden > 0 {
		fmt.Fprintf(s.opts.Stderr, "WARNING: the first hits of %d threads may be missing: their numbers were those of other processes' threads a moment before\n", account.Hidden)
	}
	if account.OwnSeen > 0 {
		fmt.Fprintf(s.opts.Stderr, "WARNING: %d of the hits are ringtap's own\n", account.OwnSeen)
	}
	if account.Stacks > 0 {
		fmt.Fprintf(s.opts.Stderr, "WARNING: %d stacks were left out: too many different ones\n", account.Stacks)
	}
	if account.Cut > 0 {
		fmt.Fprintf(s.opts.Stderr, "WARNING: %d of %d user stacks are cut short: they are deeper than what ringtap copies of each\n", account.Cut, account.Users)
	}
	if account.Late > 0 && s.opts.Verbose {
		fmt.Fprintf(s.opts.Stderr, "%d reads of memory came a moment after the hits: the values may be others (marked ~)\n", account.Late)
	}
	if account.Gone > 0 {
		fmt.Fprintf(s.opts.Stderr, "WARNING: %d reads of memory came after their processes had started other programs: they gave nothing\n", account.Gone)
	}
	if account.Ended > 0 {
		fmt.Fprintf(s.opts.Stderr, "WARNING: %d values of curtask are missing: the threads had ended, or were those of idle CPUs\n", account.Ended)
	}
	if account.Rests != "" {
		fmt.Fprintln(s.opts.Stderr, "WARNING:", account.Rests)
	}
	if account.Missing > 0 {
		fmt.Fprintf(s.opts.Stderr, "WARNING: %d of %d texts were gone before they could be read\n", account.Missing, account.Texts)
	}
	if account.CutTexts > 0 {
		fmt.Fprintf(s.opts.Stderr, "WARNING: %d of %d texts are cut short, where they end in ...\n", account.CutTexts, account.Texts)
	}
	if account.Unprobed > 0 {
		fmt.Fprintf(s.opts.Stderr, "WARNING: %d of %d hits have no values of the kernel's memory: the kernel has left out or lost the records of the event probes\n",
			account.Unprobed, account.Probed)
	}
	for _, note := range account.Notes() {
		fmt.Fprintln(s.opts.Stderr, "WARNING:", note)
	}
	for _, note := range account.Interpreted {
		fmt.Fprintln(s.opts.Stderr, note)
	}
	return err
}

// books prints what became of the hits of each attach point that was hit, and the sums.
func (s *session) books(account *live.Account) {
	out := s.opts.Stderr
	for _, b := range account.Probes {
		if b.Received+b.Lost+b.InKernel+b.Throttled+b.Filtered+b.Rejected == 0 {
			continue
		}
		fmt.Fprintf(out, "%s: %d received, %d lost", b.Name, b.Received, b.Lost)
		if b.InKernel > 0 {
			fmt.Fprintf(out, ", %d counted in the kernel", b.InKernel)
		}
		if b.Rejected > 0 {
			fmt.Fprintf(out, ", %d filtered by the kernel", b.Rejected)
		}
		if b.Filtered > 0 {
			fmt.Fprintf(out, ", %d of other targets", b.Filtered)
		}
		if b.Duplicates > 0 {
			fmt.Fprintf(out, ", %d came twice as events were replaced", b.Duplicates)
		}
		if b.Exact {
			fmt.Fprintf(out, ", %d by the kernel's count", b.Counted)
		}
		if b.Throttled > 0 {
			fmt.Fprintf(out, ", throttled %d times", b.Throttled)
		}
		fmt.Fprintln(out)
	}
	if account.Probed > 0 {
		fmt.Fprintf(out, "%d hits with values of the kernel's memory, %d without; %d records of event probes lost\n",
			account.Probed-account.Unprobed, account.Unprobed, account.ProbesLost)
	}
	all := account.All()
	fmt.Fprintf(out, "%d hits received, %d counted in the kernel, %d lost, %d left out as ringtap's own, %d filtered by the kernel\n",
		all.Received, all.InKernel, all.Lost, account.Own, all.Rejected)
}

// never returns an event that no clause handles. It lets a program without probes in its target end
// when the target ends.
func never() *plan.Event {
	return &plan.Event{Place: plan.Sampled, Sample: plan.Sample{Kind: "software", Name: "page-faults", Period: 1 << 62}}
}

// placed turns an error at one attach point into a *syntax.Errors.
func (s *session) placed(err error) error {
	var wrong *syntax.Error
	if errors.As(err, &wrong) {
		return &syntax.Errors{List: []*syntax.Error{wrong}, Sources: s.parsed.Sources}
	}
	return err
}

// Hit runs a clause. It returns false if the program has ended.
func (s *session) Hit(clause int, h *eval.Hit) bool {
	s.machine.Hit(clause, h)
	return !s.over()
}

// Lost marks the values in the maps as uncertain.
func (s *session) Lost() {
	for _, m := range s.machine.Maps {
		m.Doubt()
	}
}

// Due returns when the next interval ticks. If a signal has arrived, it returns time 0.
func (s *session) Due() (when uint64, ok bool) {
	if len(s.usr1) > 0 {
		return 0, true
	}
	_, next, ok := s.ticks.next()
	return uint64(next), ok
}

// Tick runs the clauses that are due. It returns false if the program has ended.
func (s *session) Tick() bool {
	select {
	case <-s.usr1:
		s.fire(s.points.signals, time.Duration(clock(unix.CLOCK_MONOTONIC)))
	default:
		interval, at, _ := s.ticks.next()
		s.fire(s.points.intervals[interval:interval+1], at)
		s.ticks.done(interval, time.Duration(clock(unix.CLOCK_MONOTONIC)))
	}
	return !s.over() && s.printer.Flush() == nil
}
