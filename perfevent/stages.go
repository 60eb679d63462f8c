package perfevent

import "golang.org/x/sys/unix"

// stage is a step on a record's way from the decoder to the caller. It returns the
// record, or nil for one that goes no further, which it has then entered in the books.
type stage func(*Session, Record) Record

// compose sets the stages of a session by what its target and events need. It is called
// when the events are open, and again when a growth adds some. Samples have a list of
// their own: they are most of all records, and concern the fewest stages.
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
	if len(s.apart) > 0 {
		s.ofSamples = append(s.ofSamples, (*Session).bookApart)
	}
	if s.descent != nil {
		s.ofSamples = append(s.ofSamples, (*Session).keepDescent)
		s.ofOthers = append(s.ofOthers, (*Session).followDescent)
	}
}

// receive decodes one record and has it pass the stages to the caller.
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

// countLosses enters what the kernel did not record. It is the first stage: a loss of
// a duplicate is a loss.
func (s *Session) countLosses(rec Record) Record {
	switch rec := rec.(type) {
	case *Throttle:
		if ev := s.dec.events.find(rec.EventID); !rec.Unthrottle && ev != nil && ev.sampling >= 0 {
			s.accounts[ev.sampling].Throttled++
		}
	case *Lost:
		s.stats.Lost += rec.Lost
		if ev := s.dec.events.find(rec.EventID); s.format&unix.PERF_FORMAT_LOST == 0 && ev != nil && ev.sampling >= 0 {
			s.accounts[ev.sampling].Lost += rec.Lost
		}
	}
	return rec
}

// keepTarget drops what is not the target's, where the whole system is watched for it.
func (s *Session) keepTarget(rec Record) Record {
	if s.filter.wants(rec) {
		return rec
	}
	if sample, ok := rec.(*Sample); ok {
		s.accounts[sample.Sampling].Filtered++
	}
	return nil
}

// dropDuplicates drops what has come by another event as well.
func (s *Session) dropDuplicates(rec Record) Record {
	duplicate := s.isDuplicate(rec)
	switch rec := rec.(type) {
	case *Sample:
		if duplicate {
			s.accounts[rec.Sampling].Duplicates++
		}
	case *Fork:
		if !duplicate {
			s.duplicates.fork(rec.TID)
			for _, d := range s.grow.sets {
				d.fork(rec.TID)
			}
		}
	case *Exit:
		s.duplicates.exit(rec.TID)
		for _, d := range s.grow.sets {
			d.exit(rec.TID)
		}
	}
	if duplicate {
		return nil
	}
	return rec
}
