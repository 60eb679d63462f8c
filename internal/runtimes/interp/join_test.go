package interp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
)

// loops is a runtime whose loop is an object.
type loops callchain.ObjectID

func (l loops) Name() string                               { return "loops" }
func (l loops) Walker(Memory) Walker                       { return nil }
func (l loops) Frames(dst []Frame, c Call) ([]Frame, bool) { return dst, true }
func (l loops) Loop(f callchain.Frame) bool                { return f.Object == callchain.ObjectID(l) }

// parts is a runtime whose loop is object 7, with parts that are object 6.
type parts struct{ loops }

func (parts) Handler(f callchain.Frame) bool { return f.Object == 6 }

// compiling is a runtime whose loop is object 7, with code that is object 4.
type compiling struct{ loops }

func (compiling) Step(*callchain.Activation)      {}
func (compiling) Compiled(f callchain.Frame) bool { return f.Object == 4 }

// switched is a runtime whose loop is object 7; object 5 switches to other calls of it.
type switched struct{ loops }

func (switched) Switches(f callchain.Frame) bool { return f.Object == 5 }

func call(code uint64) Call          { return Call{Code: code} }
func entry(code uint64) Call         { return Call{Code: code, Entry: true} }
func generated(code, pc uint64) Call { return Call{Code: code, PC: pc} }
func native(objects ...callchain.ObjectID) []callchain.Frame {
	var frames []callchain.Frame
	for i, o := range objects {
		frames = append(frames, callchain.Frame{Object: o, Offset: uint64(i)})
	}
	return frames
}

func TestCallsComeToStandWhereTheirLoopsAre(t *testing.T) {
	const loop, other = 7, 8
	for name, test := range map[string]struct {
		native    []callchain.Frame
		truncated bool
		chains    []Chain
		want      string
		fits      bool
	}{
		"a loop that runs several calls": {
			native(1, loop, 2), false, []Chain{{Runtime: loops(loop), Calls: []Call{call(10), call(11), entry(12)}}}, "0 #10 #11 #12 2", true},
		"a loop for each call": {
			native(1, loop, 2, loop, 3), false, []Chain{{Runtime: loops(loop), Calls: []Call{entry(10), entry(11)}}}, "0 #10 2 #11 4", true},
		"no calls": {
			native(1, 2), false, nil, "0 1", true},
		"a loop that has just begun": {
			native(loop, loop), false, []Chain{{Runtime: loops(loop), Calls: []Call{entry(10)}}}, "0 #10", true},
		"two loops without a call": {
			native(loop, loop, loop), false, []Chain{{Runtime: loops(loop), Calls: []Call{entry(10)}}}, "0 1 #10", false},
		"a call without a loop": {
			native(1, loop, 2), false, []Chain{{Runtime: loops(loop), Calls: []Call{entry(10), entry(11)}}}, "0 #11 2", false},
		"a call whose loop is beyond the end of the native chain": {
			native(1, loop), true, []Chain{{Runtime: loops(loop), Calls: []Call{entry(10), entry(11)}}}, "0 #10 #11", true},
		"no native chain": {
			nil, true, []Chain{{Runtime: loops(loop), Calls: []Call{entry(10)}}}, "#10", true},
		"two runtimes": {
			native(1, loop, 2, other), false, []Chain{
				{Runtime: loops(loop), Calls: []Call{call(10), entry(11)}}, {Runtime: loops(other), Calls: []Call{entry(20)}}}, "0 #10 #11 2 #20", true},
		"a part of a loop": {
			native(1, 6, loop, 2), false, []Chain{{Runtime: parts{loop}, Calls: []Call{entry(10)}}}, "0 #10 3", true},
		"a part of a loop that runs, and one of a loop without a call": {
			native(6, loop, 6, loop), false, []Chain{{Runtime: parts{loop}, Calls: []Call{entry(10)}}}, "0 1 #10", true},
		"a part that no loop has called": {
			native(6, 1, loop), false, []Chain{{Runtime: parts{loop}, Calls: []Call{entry(10)}}}, "0 1 #10", true},
		"code that a loop has compiled and called": {
			native(1, 4, loop, 2), false, []Chain{{Runtime: compiling{loop}, Calls: []Call{call(10), entry(11)}}}, "0 #10 #11 3", true},
		"code that functions between have called": {
			native(4, 2, 3, loop, 1), false, []Chain{{Runtime: compiling{loop}, Calls: []Call{entry(10)}}}, "#10 4", true},
		"code that no loop has called": {
			native(4, 2, 3, 1, loop), false, []Chain{{Runtime: compiling{loop}, Calls: []Call{entry(10)}}}, "0 1 2 3 #10", true},
		"calls on top of others": {
			native(1, loop, 2, 5, 5, loop, 3), false, []Chain{{Runtime: switched{loop}, Calls: []Call{call(10), entry(11)}}}, "0 #10 #11 2 3 4 5 6", true},
		"calls on top of others, where a loop has just begun": {
			native(loop, loop, 5, loop, 3), false, []Chain{{Runtime: switched{loop}, Calls: []Call{entry(10)}}}, "0 #10 2 3 4", true},
		"calls on top of others that are cut": {
			native(loop, loop, 5, loop, 3), true, []Chain{{Runtime: switched{loop}, Calls: []Call{entry(10)}}}, "0 #10 2 3 4", true},
		"calls on top of others, and these on top of others": {
			native(1, loop, 5, loop, 5, loop), false, []Chain{{Runtime: switched{loop}, Calls: []Call{entry(10)}}}, "0 #10 2 3 4 5", true},
		"calls that are about to switch": {
			native(5, loop, 2), false, []Chain{{Runtime: switched{loop}, Calls: []Call{entry(10)}}}, "0 #10 2", true},
		"calls that are about to switch, on a stack that is cut outside the last switch": {
			native(5, loop, 5, 3), true, []Chain{{Runtime: switched{loop}, Calls: []Call{entry(10)}}}, "0 #10 2 3", true},
		"a switch under way, on a stack that is cut": {
			native(5, loop, 2), true, []Chain{{Runtime: switched{loop}, Calls: []Call{entry(10), entry(11)}}}, "0 1 2", false},
		"a function that is told of each switch": {
			native(loop, 5, loop, loop, 5, loop), false, []Chain{{Runtime: switched{loop}, Calls: []Call{entry(10), entry(11), entry(12)}}}, "#10 1 #11 #12 4 5", true},
		"generated code": {
			native(1, 2, 3), false, []Chain{{Runtime: loops(loop), Calls: []Call{generated(10, 1)}}}, "0 #10 2", true},
		"generated code between interpreted calls": {
			native(loop, 2, loop), false, []Chain{{Runtime: loops(loop), Calls: []Call{call(10), generated(11, 1), entry(12)}}}, "#10 #11 #12", true},
	} {
		t.Run(name, func(t *testing.T) {
			joined, fits := Join(nil, test.native, test.truncated, test.chains)
			var got []string
			for _, e := range joined {
				if e.Native >= 0 {
					got = append(got, fmt.Sprint(e.Native))
				} else {
					got = append(got, fmt.Sprintf("#%d", e.Call.Code))
				}
			}
			if text := strings.Join(got, " "); text != test.want || fits != test.fits {
				t.Errorf("%s %t, want %s %t", text, fits, test.want, test.fits)
			}
		})
	}
}
