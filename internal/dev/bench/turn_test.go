package main

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"
)

// taken is what one turn of a tool adds to a measurement.
func taken(t *testing.T, m measurement, tool tool) (map[string][]float64, error) {
	t.Helper()
	s := (&bench{dir: t.TempDir(), runs: 1}).newSession(m)
	s.base = quantities{"": 10}
	err := s.turn(t.Context(), tool)
	return s.Values, err
}

func TestATurnAddsWhatIsReadOfATool(t *testing.T) {
	printed := []reading{{"printed", figure(`is (\d+)`, 10)}}
	for _, test := range []struct {
		about string
		m     measurement
		tool  tool
		want  map[string][]float64
	}{
		{"the measurement's readings", measurement{read: printed}, tool{name: "a", line: "echo 'it is 7'"}, map[string][]float64{"a: printed": {70}}},
		{"the tool's own", measurement{read: printed}, tool{name: "a", line: "echo 'was 7'", read: []reading{{"", figure(`was (\d+)`, 1)}}}, map[string][]float64{"a": {7}}},
		{"under a tool, more than before it", measurement{ready: launched, under: always(25), read: []reading{beyond(""), {"times", slowdown}}},
			tool{name: "a", line: "sleep 1000"}, map[string][]float64{"a": {15}, "a: times": {2.5}}},
		{"more than before and after it", measurement{ready: launched, alone: always(20), under: always(25), again: true, read: []reading{beyond("")}},
			tool{name: "a", line: "sleep 1000"}, map[string][]float64{"a": {10}}},
		{"a tool whose end does not matter", measurement{ready: launched, under: untilEnd, read: []reading{during("")}},
			tool{name: "a", line: "false", killed: true}, map[string][]float64{"a": {1}}},
	} {
		if got, err := taken(t, test.m, test.tool); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, %v; want %v", test.about, got, err, test.want)
		}
	}
}

func always(v float64) operation {
	return func(context.Context, *turn) (quantities, error) { return quantities{"": v}, nil }
}

func untilEnd(_ context.Context, t *turn) (quantities, error) {
	<-t.running.done.Done()
	return quantities{"": 1}, nil
}

func TestATurnOfAToolThatFailsAddsNothing(t *testing.T) {
	for _, m := range []measurement{
		{read: []reading{{"", took}}},
		{ready: launched, under: untilEnd, read: []reading{{"", took}}},
		{ready: started, under: always(1), read: []reading{{"", took}}},
	} {
		got, err := taken(t, m, tool{name: "a", line: "sh -c 'echo no such probe >&2; exit 1'"})
		if err == nil || !strings.Contains(err.Error(), "no such probe") || len(got) != 0 {
			t.Errorf("%v, %v; want an error with the tool's message", got, err)
		}
	}
}

func TestAReactionIsCountedFromTheLastAlarmBeforeIt(t *testing.T) {
	const log = "level=INFO msg=alarm name=\"cpu some\" at=5000 took=2µs\nlevel=INFO msg=\"first event\" at=9000\n"
	s := new(session)
	got, err := (&turn{session: s, alarms: []int64{1000, 4000, 9500}, result: result{stderr: []byte(log)}}).reacted()
	if want := (reacted{on: 5000 + int64(2*time.Microsecond) - 4000, first: 5000}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}
