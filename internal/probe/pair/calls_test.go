package pair

import (
	"testing"

	"github.com/ringtap/ringtap/perfevent"
)

// step is an entry (+) or a return (-) of function 0 in task 1, at a place of the
// stack; what ends says which entry a return is to end, by the time it began, 0
// for none.
type step struct {
	enter bool
	slot  uint64
	ends  uint64
}

func in(slot uint64) step           { return step{enter: true, slot: slot} }
func back(slot uint64, of int) step { return step{slot: slot, ends: uint64(of)} }
func unmatched(slot uint64) step    { return step{slot: slot} }
func (s step) at(i int) uint64      { return uint64(i + 1) }

// Entries are counted from 1: back(200, 1) ends what the first step began.
func TestAReturnEndsTheCallOfItsFrame(t *testing.T) {
	for _, test := range []struct {
		name                              string
		steps                             []step
		open, left, unmatched, matchCount uint64
	}{
		{"one call", []step{in(200), back(200, 1)}, 0, 0, 0, 1},
		{"one after the other", []step{in(200), back(200, 1), in(200), back(200, 3)}, 0, 0, 0, 2},
		{"recursion", []step{in(300), in(200), in(100), back(100, 3), back(200, 2), back(300, 1)}, 0, 0, 0, 3},
		{"recursion deeper than returns are seen", []step{in(300), in(200), in(100), back(300, 1)}, 0, 2, 0, 1},
		{"a call that began before the run", []step{unmatched(300), in(300), back(300, 2)}, 0, 0, 1, 1},
		{"a call that goes on after the run", []step{in(300), in(200), back(200, 2)}, 1, 0, 0, 1},
		{"longjmp out of a call, and the same frame again", []step{in(300), in(300), back(300, 2)}, 1, 0, 0, 1},
		{"longjmp out of calls to the outermost", []step{in(300), in(200), in(100), in(200), back(200, 4), back(300, 1)}, 0, 2, 0, 2},
		{"longjmp out of many calls", []step{in(300), in(300), in(300)}, 1, 2, 0, 0},
		{"a jump to itself at the end: both end at once", []step{in(300), in(300), back(300, 2), back(300, 1)}, 0, 0, 0, 2},
		{"a signal on a stack of its own, above", []step{in(300), in(900), back(900, 2), back(300, 1)}, 0, 0, 0, 2},
		{"a signal's call is not gone when its caller's ends", []step{in(300), in(900), back(300, 1), back(900, 2)}, 0, 0, 0, 2},
		{"fork: the child's return", []step{unmatched(300)}, 0, 0, 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, task := New[int](), Task{ID: 1}
			var matched uint64
			for i, s := range test.steps {
				if s.enter {
					c.Enter(task, Call[int]{Slot: s.slot, Start: s.at(i)})
					continue
				}
				got, ok := c.Leave(task, 0, s.slot, s.at(i))
				if ok {
					matched++
				}
				if ok != (s.ends > 0) || got.Start != s.ends {
					t.Errorf("step %d ends the call of step %d, want %d", i+1, got.Start, s.ends)
				}
			}
			open, left := c.Open()
			if left += c.Counts.Left; open != test.open || left != test.left || c.Counts.Unmatched != test.unmatched || matched != test.matchCount {
				t.Errorf("%d open, %d left, %d unmatched, %d matched; want %d, %d, %d, %d",
					open, left, c.Counts.Unmatched, matched, test.open, test.left, test.unmatched, test.matchCount)
			}
			if c.Counts.began != matched+open+left {
				t.Errorf("%d calls began, and %d are accounted for", c.Counts.began, matched+open+left)
			}
		})
	}
}

func TestCallsOfOtherTasksAndFunctionsAreNoneOfAReturns(t *testing.T) {
	c := New[int]()
	c.Enter(Task{ID: 1}, Call[int]{Function: 0, Slot: 300, Start: 1})
	c.Enter(Task{ID: 1}, Call[int]{Function: 1, Slot: 300, Start: 2})
	c.Enter(Task{ID: 2}, Call[int]{Function: 0, Slot: 300, Start: 3})
	for _, test := range []struct {
		task     uint64
		function int
		want     uint64
	}{{2, 1, 0}, {3, 0, 0}, {1, 0, 1}, {1, 1, 2}, {2, 0, 3}} {
		got, _ := c.Leave(Task{ID: test.task}, test.function, 300, 10)
		if got.Start != test.want {
			t.Errorf("a return of task %d, function %d ends call %d, want %d", test.task, test.function, got.Start, test.want)
		}
	}
}

func TestNothingIsPairedAcrossLostRecords(t *testing.T) {
	c, task := New[int](), Task{ID: 1}
	c.Enter(task, Call[int]{Slot: 300, Start: 1})
	c.uncertain[2] = []Ended[int]{{Call: Call[int]{Start: 2, CPU: 2}, End: 3}}
	c.Lost()
	if got, ok := c.Leave(task, 0, 300, 10); ok {
		t.Errorf("a return behind the gap ends the call of before it, %+v", got)
	}
	if c.Counts.Broken != 2 || len(c.uncertain) != 0 {
		t.Errorf("%d given up, want 2; uncertain: %v", c.Counts.Broken, c.uncertain)
	}
}

func TestWhatNeverReturnsTakesBoundedMemory(t *testing.T) {
	c, task := New[int](), Task{ID: 1}
	const n = 3*maxOpen + 5
	for i := range uint64(n) {
		c.Enter(task, Call[int]{Slot: i, Start: i + 1})
	}
	if got := len(c.tasks[task].calls); got > maxOpen {
		t.Errorf("%d calls are kept, want at most %d", got, maxOpen)
	}
	if got, ok := c.Leave(task, 0, n-1, n+1); !ok || got.Start != n {
		t.Errorf("the last call is forgotten: %+v", got)
	}
}

func TestAThreadsCallsEndWithIt(t *testing.T) {
	c := New[int]()
	for _, task := range []Task{{ID: 7}, {process: 7, ID: 1}, {process: 7, ID: 2}, {process: 8, ID: 1}, {ID: 8}} {
		c.Enter(task, Call[int]{Slot: 300})
	}
	c.Handle(&perfevent.Exit{PID: 7, TID: 7})
	if open, _ := c.Open(); open != 2 || c.Counts.Left != 3 {
		t.Errorf("%d open and %d left, want 2 and 3", open, c.Counts.Left)
	}
}

// The time of calls less that of the calls inside them is the time in which there
// was a call at all.
func TestNoMomentOfAFunctionThatCallsItselfIsCountedTwice(t *testing.T) {
	for _, test := range []struct {
		name  string
		steps []step
		want  []uint64 // of each return: its time without that of inner calls
	}{
		{"one call in another", []step{in(300), in(200), back(200, 2), back(300, 1)}, []uint64{1, 2}},
		{"two in one", []step{in(300), in(200), back(200, 2), in(200), back(200, 4), back(300, 1)}, []uint64{1, 1, 3}},
		{"three levels", []step{in(300), in(200), in(100), back(100, 3), back(200, 2), back(300, 1)}, []uint64{1, 2, 2}},
		{"a jump to itself at the end", []step{in(300), in(300), back(300, 2), back(300, 1)}, []uint64{1, 2}},
		{"longjmp out of a call that had called", []step{in(300), in(200), in(100), back(100, 3), back(300, 1)}, []uint64{1, 3}},
		{"after longjmp out of the outer call", []step{in(200), in(300), in(100), back(100, 3), back(300, 2)}, []uint64{1, 2}},
		{"a signal's call on a stack above", []step{in(300), in(900), back(900, 2), back(300, 1)}, []uint64{1, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, task := New[int](), Task{ID: 1}
			for i, s := range test.steps {
				if s.enter {
					c.Enter(task, Call[int]{Slot: s.slot, Start: s.at(i)})
				} else if e, ok := c.Leave(task, 0, s.slot, s.at(i)); !ok || e.Own != test.want[0] {
					t.Errorf("step %d: %d to %d, %d its own; want %d", i+1, e.Start, e.End, e.Own, test.want[0])
				} else {
					test.want = test.want[1:]
				}
			}
		})
	}
}

func TestACallInsideAnotherIsKnown(t *testing.T) {
	c, task := New[int](), Task{ID: 1}
	c.Enter(task, Call[int]{Function: 1, Slot: 300})
	c.Enter(task, Call[int]{Function: 2, Slot: 200})
	c.Leave(task, 2, 200, 1)
	if outer := c.Around(task, 200); outer == nil || outer.Function != 1 {
		t.Errorf("the call at 200 is inside %+v, want the one of function 1", outer)
	}
	c.Leave(task, 1, 300, 2)
	if outer := c.Around(task, 300); outer != nil {
		t.Errorf("the call at 300 is inside %+v, want none", outer)
	}
}

func TestWhatIsHeldIsWhatIsOpen(t *testing.T) {
	c, task := New[int](), Task{ID: 1}
	c.Enter(task, Call[int]{Slot: 300, Payload: 1})
	c.Enter(task, Call[int]{Slot: 200, Payload: 2})
	ended, _ := c.Leave(task, 0, 200, 9)
	if !c.Hold(ended, 5) {
		t.Error("a call that ended on another CPU is certain")
	}
	sum := 0
	c.Each(func(call *Call[int]) { sum += call.Payload; call.Payload *= 10 })
	if sum != 3 {
		t.Errorf("the payloads of calls and held calls add up to %d, want 3", sum)
	}
	c.ConfirmAll(func(e Ended[int]) {
		if e.Payload != 20 || e.End != 9 {
			t.Errorf("confirmed: %+v", e)
		}
	})
	full := c.Bytes()
	c.Handle(&perfevent.Exit{PID: 7, TID: 1})
	if c.Bytes() >= full || c.Bytes() != 0 {
		t.Errorf("%d bytes are left of %d when all has ended", c.Bytes(), full)
	}
}
