package perfevent

import (
	"context"
	"errors"
	"fmt"
)

// Reader has the records of a session pass stages of the caller's on their way from the
// rings to its function. The zero value has none.
type Reader struct {
	// Unordered, unless nil, is offered every record as soon as it can be, each CPU's
	// in their order and long before it is handed on in the order of time. It is called
	// on the goroutine that reads the rings and must not block. It is offered records
	// that turn out not to be the target's, too. Options.NoBuffering makes it soon.
	Unordered func(Record)

	// Raw, unless nil, is offered the bytes of every record that goes to the caller's
	// function, before it does, as the kernel wrote them: what a Decoder with the
	// session's Events decodes again. They are valid until Raw returns. It is called on
	// the goroutine that reads the rings and must not block.
	Raw func(record []byte)

	// Spool bounds the bytes of records that wait in memory while the caller's function
	// is held up; the rings are then read on a goroutine of their own, which copies
	// the records. 0 hands them on in place: a function that takes longer than
	// the rings last loses records.
	Spool int
	// BeforeSpool, unless nil, is offered records where they lie in the ring, before
	// they are copied to the spool; true says that the record is done with. With next
	// all records before it have been handled; else it is a sample, and nothing but
	// samples waits in the spool. It is called on the goroutine that reads the rings,
	// at times while the caller's function runs, and must not block. It is for what the
	// caller has had the like of: copies are most of what a storm of samples costs its
	// reader.
	BeforeSpool func(record Record, next bool) bool

	// AnyOrder hands on the records of each ring as soon as they are there, ring after ring,
	// in place of the order of time. It is for a caller to whom the order does not matter.
	AnyOrder bool

	// Round, unless nil, is called about every fifth of a second,
	// between records: all records of times before the one given
	// (CLOCK_MONOTONIC, nanoseconds) have been handed on. So a caller can
	// close an interval of time in which nothing happened.
	Round func(before uint64)
}

// Read is Session.Read by way of the reader's stages.
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
	if s.opts.Shared {
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
			continue // a ring says only once that it is a quarter full, and did so meanwhile
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

// errHandlerStopped ends the reading of the rings when the handler has failed.
var errHandlerStopped = errors.New("the handler has stopped")

// readSpooled reads the rings on a goroutine of its own and handles the records
// on the caller's.
func (r *Reader) readSpooled(ctx context.Context, s *Session, handle func(Record) error) error {
	spool := newSpool(r.Spool)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var thread niceThread
		defer thread.set(false)
		s.merge.halfFull = thread.set
		err := r.fillSpool(ctx, s, spool)
		spool.end()
		done <- err
	}()
	handleErr := r.emptySpool(spool, handle)
	if handleErr != nil {
		spool.stop()
		cancel()
	}
	readErr := <-done
	if handleErr != nil {
		return handleErr
	}
	return readErr
}

// fillSpool copies all records into batches. There is no batch to copy into once
// the handler has stopped.
func (r *Reader) fillSpool(ctx context.Context, s *Session, spool *spool) error {
	current := spool.get()
	pass := func(before uint64) {
		current.before = before
		spool.put(current)
		current = spool.get()
	}
	last, trim := uint64(0), uint64(0)
	err := r.read(ctx, s, func(record Record) error {
		if current == nil {
			return errHandlerStopped
		}
		if r.BeforeSpool != nil && r.beforeSpool(spool, record) {
			return nil
		}
		spool.waiting.Add(1)
		if current.add(record) {
			spool.others.Add(1)
		}
		if current.full() {
			pass(0)
		}
		return nil
	}, func(before uint64) {
		if now := Now(); now >= trim {
			spool.trim()
			trim = now + trimEvery
		}
		later := r.Round != nil && before != last
		if current != nil && (later || len(current.records) > 0) {
			pass(before)
			last = before
		}
	})
	if current != nil {
		spool.put(current)
	}
	return err
}

// beforeSpool offers a record to BeforeSpool, unless what waits must be handled before.
func (r *Reader) beforeSpool(spool *spool, record Record) bool {
	next := spool.waiting.Load() == 0
	if !next {
		if _, ok := record.(*Sample); !ok || spool.others.Load() > 0 {
			return false
		}
	}
	return r.BeforeSpool(record, next)
}

// emptySpool handles the records of all batches.
func (r *Reader) emptySpool(spool *spool, handle func(Record) error) error {
	var thread niceThread
	defer thread.set(false)
	for {
		thread.set(spool.pressed())
		b := spool.take()
		if b == nil {
			return nil
		}
		for _, record := range b.records {
			if err := handle(record); err != nil {
				return err
			}
		}
		if b.before > 0 && r.Round != nil {
			r.Round(b.before)
		}
		spool.recycle(b)
	}
}
