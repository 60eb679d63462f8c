package perfevent

import (
	"context"
	"fmt"
)

// Reader reads a session's records with optional hooks of the caller. The zero value reads as
// Session.Read does.
type Reader struct {
	// Unordered, if not nil, is called with every record as early as possible, in the order
	// of each CPU's ring. When a record is handed on in time order, Unordered has seen all
	// records up to a millisecond later. It also sees records that are dropped later because
	// they are not the target's. It runs on the goroutine that reads the rings and must not
	// block. Options.NoBuffering makes it earlier.
	Unordered func(Record)

	// Raw, if not nil, is called with the bytes of every record before the record goes to
	// the caller's function. They are as the kernel wrote them, so a Decoder made from
	// Session.Events can decode them. They are valid until Raw returns. Raw runs on the
	// goroutine that reads the rings and must not block.
	Raw func(record []byte)

	// Spool bounds the bytes of records that wait in memory while the caller's function is
	// busy. A separate goroutine then reads the rings and copies the records. If Spool is 0,
	// records are handed on in place, and are lost when the function is so slow that a ring
	// fills up.
	Spool int
	// BeforeSpool, if not nil, is called with a record in the ring before it is copied to the
	// spool. It returns true if the record needs no further handling. If next is true, all
	// earlier records have been handled. Otherwise the record is a sample, and only samples
	// wait in the spool. It runs on the goroutine that reads the rings, maybe while the
	// caller's function runs, and must not block. It is for samples that the caller can handle
	// quickly: in a storm of samples, copying is most of the reader's cost.
	BeforeSpool func(record Record, next bool) bool

	// AnyOrder hands on the records ring after ring as soon as they are there, instead of in
	// time order.
	AnyOrder bool

	// Round, if not nil, is called about five times a second, between records. All records
	// with times below before (CLOCK_MONOTONIC, nanoseconds) have been handed on. So a
	// caller can close an interval in which nothing happened.
	Round func(before uint64)
}

// Read is Session.Read with the reader's hooks.
func (r *Reader) Read(ctx context.Context, s *Session, handle func(Record) error) error {
	if r.Spool > 0 {
		return r.readSpooled(ctx, s, handle)
	}
	round := r.Round
	if round == nil {
		round = func(uint64) {}
	}
	return r.read(ctx, s, handle, round)
}

// read reads the rings until the end. It calls round after each look at them.
func (r *Reader) read(ctx context.Context, s *Session, handle func(Record) error, round func(before uint64)) error {
	stop := context.AfterFunc(ctx, s.poll.wake)
	defer stop()
	receive := func(_ *ring, b []byte) error { return s.receive(b, handle) }
	s.raw = r.Raw
	if s.merge.anyOrder = r.AnyOrder; r.AnyOrder {
		var thread niceThread
		defer thread.set(false)
		s.merge.halfFull = thread.set
	}
	wait := func(float64) error { return s.poll.wait() }
	if s.opts.SharedRings {
		wait = s.shared.wait
	}
	if r.Unordered != nil {
		s.merge.unordered = func(b []byte) {
			if record, err := s.dec.Decode(b); err == nil {
				r.Unordered(record)
			}
		}
	}
	if s.opts.NoBuffering {
		thread := newRealtime()
		defer thread.leave()
		wait = func(float64) error { return thread.wait(s.poll.waitHere) }
	}
	for ctx.Err() == nil && !s.gone() {
		if err := s.merge.round(false, receive); err != nil {
			return err
		}
		used := s.merge.fullest
		round(s.merge.bound)
		if err := s.changeStacks(); err != nil {
			return fmt.Errorf("change to a larger copy of the stack: %w", err)
		}
		if s.merge.pressed() {
			continue // a ring reports only once that it is a quarter full, and has done so
		}
		if err := wait(used); err != nil {
			return fmt.Errorf("wait for records: %w", err)
		}
	}
	if err := s.Disable(); err != nil {
		return err
	}
	return s.merge.round(true, receive)
}

// stage is a step on a record's way from the decoder to the caller. It returns the record, or
// nil to drop it. A stage that drops a sample counts it in its Account.
type stage func(*Session, Record) Record

// compose sets the stages that the session's target and events need. It is called when the
// events are open, and again when a growth adds events. Samples have a shorter list of their
// own because they are most of all records.
func (s *Session) compose() {
	s.ofSamples, s.ofOthers = nil, []stage{(*Session).countLosses}
	if s.filter.active() {
		s.ofSamples = append(s.ofSamples, (*Session).keepTarget)
		s.ofOthers = append(s.ofOthers, (*Session).keepTarget)
	}
	if s.children != nil {
		s.ofOthers = append(s.ofOthers, (*Session).followChildren)
	}
	if s.duplicates.ambiguous || len(s.grow.sets) > 0 {
		s.ofSamples = append(s.ofSamples, (*Session).dropDuplicates)
		s.ofOthers = append(s.ofOthers, (*Session).dropDuplicates)
	}
	if len(s.kernelCounts) > 0 {
		s.ofSamples = append(s.ofSamples, (*Session).notePassing)
	}
	if s.descent != nil {
		s.ofSamples = append(s.ofSamples, (*Session).keepDescent)
		s.ofOthers = append(s.ofOthers, (*Session).followDescent)
	}
}

// receive decodes one record and passes it through the stages to the caller.
func (s *Session) receive(b []byte, handle func(Record) error) error {
	rec, err := s.dec.Decode(b)
	if err != nil {
		if err == ErrUnknownRecord {
			s.stats.Unknown++
		} else {
			s.stats.Malformed++
		}
		return nil
	}
	sample, ok := rec.(*Sample)
	stages := s.ofOthers
	if ok {
		stages = s.ofSamples
	}
	for _, stage := range stages {
		if rec = stage(s, rec); rec == nil {
			return nil
		}
	}
	if ok {
		account := &s.accounts[sample.Sampling]
		account.Received++
		account.Weight += sample.Period
	}
	if s.raw != nil {
		s.raw(b)
	}
	return handle(rec)
}
