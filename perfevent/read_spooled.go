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
	err := s.read(ctx, func(record Record) error {
		if current == nil {
			return errHandlerStopped
		}
		if sample, ok := record.(*Sample); !ok {
			spool.others.Add(1)
		} else if s.opts.Early != nil && spool.others.Load() == 0 && s.opts.Early(sample) {
			return nil
		}
		if current.add(record); current.full() {
			pass(0)
		}
		return nil
	}, func(before uint64) {
		if current != nil && (s.opts.Round != nil || len(current.records) > 0) {
			pass(before)
		}
	})
	if current != nil {
		spool.put(current)
	}
	return err
}

// emptySpool handles the records of all batches.
func (s *Session) emptySpool(spool *spool, handle func(Record) error) error {
	for {
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
