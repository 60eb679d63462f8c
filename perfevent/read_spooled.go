package perfevent

import (
	"context"
	"errors"
)

// errHandlerStopped ends the reading of the rings when the handler has failed.
var errHandlerStopped = errors.New("the handler has stopped")

// readSpooled reads the rings on a goroutine of its own and handles the records
// on the caller's.
func (s *Session) readSpooled(ctx context.Context, handle func(Record) error) error {
	spool := newSpool(s.opts.Spool)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var favour favour
		defer favour.set(false)
		s.merge.favour = favour.set
		err := s.fillSpool(ctx, spool)
		spool.end()
		done <- err
	}()
	handleErr := s.emptySpool(spool, handle)
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
func (s *Session) fillSpool(ctx context.Context, spool *spool) error {
	current := spool.get()
	pass := func(before uint64) {
		current.before = before
		spool.put(current)
		current = spool.get()
	}
	last := uint64(0)
	err := s.read(ctx, func(record Record) error {
		if current == nil {
			return errHandlerStopped
		}
		if s.opts.Early != nil && s.early(spool, record) {
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
		news := s.opts.Round != nil && before != last
		if current != nil && (news || len(current.records) > 0) {
			pass(before)
			last = before
		}
	})
	if current != nil {
		spool.put(current)
	}
	return err
}

// early offers a record to Options.Early, unless what waits must be handled before.
func (s *Session) early(spool *spool, record Record) bool {
	next := spool.waiting.Load() == 0
	if !next {
		if _, ok := record.(*Sample); !ok || spool.others.Load() > 0 {
			return false
		}
	}
	return s.opts.Early(record, next)
}

// emptySpool handles the records of all batches.
func (s *Session) emptySpool(spool *spool, handle func(Record) error) error {
	var favour favour
	defer favour.set(false)
	for {
		favour.set(spool.pressed())
		b := spool.take()
		if b == nil {
			return nil
		}
		for _, record := range b.records {
			if err := handle(record); err != nil {
				return err
			}
		}
		if b.before > 0 && s.opts.Round != nil {
			s.opts.Round(b.before)
		}
		spool.recycle(b)
	}
}
