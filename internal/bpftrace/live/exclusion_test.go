package live

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// rests is a session that notes what it is asked for, and is busy at every second time.
type rests struct {
	counter
	busy    bool
	refuses error
	asked   []string
}

func (r *rests) CountInKernel(_ int, filters []string, rest string) error {
	if len(filters) > 0 {
		return errors.New("there are filters")
	}
	if r.busy = !r.busy; r.busy {
		return perfevent.ErrGrowing
	}
	if r.refuses == nil {
		r.asked = append(r.asked, rest)
	}
	return r.refuses
}

// wanted is the process whose hits alone are wanted. There is none with that number.
const wanted = 1 << 30

func newExclusion(session counter, filter string) *threadExclusion {
	who := &plan.Condition{Test: plan.Test{Header: "pid", Op: "==", N: wanted}}
	s := &source{event: &plan.Event{Who: who}}
	s.sample.Filter = filter
	return &threadExclusion{source: s, session: session, logger: slog.New(slog.DiscardHandler), host: process.Host{},
		seen: make(map[thread]int), applied: make(map[uint32]uint64)}
}

// storms has windows of hits of threads, in turn.
func (o *threadExclusion) storms(threads ...thread) {
	for i := range round * (storms + 1) {
		of := threads[i%len(threads)]
		o.look(&perfevent.Sample{Header: perfevent.Header{PID: of.pid, TID: of.tid, Time: uint64(i)}})
	}
	o.work.Wait()
}

func TestThreadsThatNoClauseWantsAreLeftOutWhileTheyLive(t *testing.T) {
	self := thread{uint32(os.Getpid()), uint32(os.Getpid())}
	all, without := "common_pid >= 0", fmt.Sprintf("common_pid >= 0 && common_pid != %d", self.tid)
	for _, tt := range []struct {
		name   string
		record perfevent.Record
		passes bool // hits of the thread pass again
	}{
		{"it ends", &perfevent.Exit{PID: self.pid, TID: self.tid}, true},
		{"another one ends", &perfevent.Exit{PID: self.pid, TID: self.tid + 1}, false},
		{"its process runs another program", &perfevent.Comm{PID: self.pid, TID: self.pid, Exec: true}, true},
		{"it gets another name", &perfevent.Comm{PID: self.pid, TID: self.pid}, false},
		{"records are lost", &perfevent.Lost{Lost: 1}, true},
		{"its number is another one's", &perfevent.Fork{PID: 7, TID: self.tid}, true},
	} {
		session := &rests{}
		o := newExclusion(session, "")
		o.storms(self)
		hidden := o.handle(tt.record)
		o.work.Wait()
		want := []string{without}
		if tt.passes {
			want = append(want, all)
		}
		if !slices.Equal(session.asked, want) || hidden {
			t.Errorf("%s: %q, hidden %v, want %q", tt.name, session.asked, hidden, want)
		}
	}
}

func TestHitsThatMayBeHiddenAreTold(t *testing.T) {
	self := thread{uint32(os.Getpid()), uint32(os.Getpid())}
	now := perfevent.Now()
	for _, tt := range []struct {
		name  string
		ended bool // the thread, before
		fork  perfevent.Fork
		want  bool
	}{
		{"a wanted thread has its number", false, perfevent.Fork{Header: perfevent.Header{Time: now}, PID: wanted, TID: self.tid}, true},
		{"so soon that its hits are left out", true, perfevent.Fork{Header: perfevent.Header{Time: now}, PID: wanted, TID: self.tid}, true},
		{"later", true, perfevent.Fork{Header: perfevent.Header{Time: now + 1e12}, PID: wanted, TID: self.tid}, false},
		{"one that is not wanted", false, perfevent.Fork{Header: perfevent.Header{Time: now}, PID: 7, TID: self.tid}, false},
		{"one with another number", false, perfevent.Fork{Header: perfevent.Header{Time: now}, PID: wanted, TID: wanted}, false},
	} {
		o := newExclusion(&rests{}, "")
		o.storms(self)
		if tt.ended {
			o.handle(&perfevent.Exit{PID: self.pid, TID: self.tid})
			o.work.Wait()
		}
		if got := o.handle(&tt.fork); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
		o.work.Wait()
	}
}

func TestOnlyThreadsThatRunAndAreNotWantedAreLeftOut(t *testing.T) {
	self := thread{uint32(os.Getpid()), uint32(os.Getpid())}
	for _, tt := range []struct {
		name    string
		filter  string
		threads []thread
		refuses error
		want    []string
	}{
		{"beside a filter", "id == 3", []thread{self}, nil, []string{fmt.Sprintf("(id == 3) && (common_pid >= 0 && common_pid != %d)", self.tid)}},
		{"idle", "", []thread{{}}, nil, []string{"common_pid >= 0 && common_pid != 0"}},
		{"the one that is wanted", "", []thread{{wanted, self.tid}}, nil, nil},
		{"one that is not there", "", []thread{{self.pid, wanted}}, nil, nil},
		{"one of another process", "", []thread{{1, self.tid}}, nil, nil},
		{"beside a wanted one", "", []thread{{wanted, wanted}, self}, nil, []string{fmt.Sprintf("common_pid >= 0 && common_pid != %d", self.tid)}},
		{"refused", "", []thread{self}, errors.New("no events"), nil},
	} {
		session := &rests{refuses: tt.refuses}
		o := newExclusion(session, tt.filter)
		o.storms(tt.threads...)
		if !slices.Equal(session.asked, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, session.asked, tt.want)
		}
	}
}
