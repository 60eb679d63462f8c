package pair

import (
	"testing"

	"github.com/ringtap/ringtap/perfevent"
)

// The steps happen at 10, 20, …, and a window ends 5 after each. Whatever the
// windows have of a call is what it spent in them.
func TestWindowsShareTheTimeOfCalls(t *testing.T) {
	for _, test := range []struct {
		name  string
		steps []step
		want  map[int]uint64 // in all, by the step that began the call
	}{
		{"a call that goes on", []step{in(300)}, map[int]uint64{1: 5}},
		{"a call that has ended", []step{in(300), back(300, 1)}, map[int]uint64{1: 10}},
		{"a call inside another", []step{in(300), in(200), back(200, 2), back(300, 1)}, map[int]uint64{1: 20, 2: 10}},
		{"both go on", []step{in(300), in(200)}, map[int]uint64{1: 10, 2: 5}},
		{"longjmp out of the inner, which is over where the outer ends", []step{in(300), in(200), back(300, 1)}, map[int]uint64{1: 15, 2: 5}},
		{"longjmp, and the same frame again", []step{in(300), in(300), back(300, 2)}, map[int]uint64{1: 5, 2: 10}},
		{"longjmp out of the inner, and on", []step{in(300), in(200), in(250), back(250, 3), back(300, 1)}, map[int]uint64{1: 25, 2: 5, 3: 10}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, task := New[int](), Task{ID: 1}
			got := make(map[int]uint64)
			for i, s := range test.steps {
				now := 10 * s.at(i)
				if s.enter {
					c.Enter(task, Call[int]{Slot: s.slot, Start: now, Payload: i + 1})
				} else if e, ok := c.Leave(task, 0, s.slot, now); ok {
					got[e.Payload] += e.Own
				}
				c.Spent(now+5, func(call *Call[int], own uint64) { got[call.Payload] += own })
			}
			for i, want := range test.want {
				if got[i] != want {
					t.Errorf("the call of step %d has spent %d, want %d", i, got[i], want)
				}
			}
		})
	}
}

func TestACallLastsUntilItsThreadEnds(t *testing.T) {
	c := New[int]()
	var spent uint64
	c.Gone = func(_ *Call[int], own uint64) { spent += own }
	c.Enter(Task{ID: 7}, Call[int]{Slot: 300, Start: 10})
	c.Enter(Task{kernel: true, ID: 7}, Call[int]{Slot: 900, Start: 20})
	c.Handle(&perfevent.Comm{Header: perfevent.Header{Time: 40}, PID: 7, TID: 7, Exec: true})
	if spent != 30 {
		t.Errorf("another program is executed after %d in a call, want 30", spent)
	}
	c.Handle(&perfevent.Exit{Header: perfevent.Header{Time: 50}, PID: 7, TID: 7})
	if spent != 30+30 {
		t.Errorf("%d with what the kernel spent executing it, want 60", spent)
	}
}
