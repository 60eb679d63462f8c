package probe

import (
	"errors"
	"os"
	"testing"

	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/uprobe"
)

func TestAfterAnErrorTheSetIsThereAndClosed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ParseUser(`p:` + self + `:"no.suchFunction"`)
	if err != nil {
		t.Fatal(err)
	}
	set, err := Open(spec, Options{})
	if !errors.As(err, new(*uprobe.SymbolError)) {
		t.Fatalf("%v, want a SymbolError", err)
	}
	if set == nil || len(set.closers) > 0 || len(set.Sources) > 0 {
		t.Errorf("the set is %+v", set)
	}
}

func TestManyPlacesShareAnEvent(t *testing.T) {
	for _, test := range []struct {
		sharing Sharing
		places  int
		want    bool
	}{
		{ShareMany, manyPlaces, false},
		{ShareMany, manyPlaces + 1, true},
		{ShareAll, 2, true},
		{ShareNone, 1000, false},
	} {
		s := &Set{options: Options{Sharing: test.sharing}}
		if got := s.shares(test.places); got != test.want {
			t.Errorf("%+v: they share: %t", test, got)
		}
	}
}

func TestTheNameOfATracepointHasAColon(t *testing.T) {
	for _, pattern := range []string{"sched_switch", "sched:["} {
		_, err := chooseTracepoints(nil, pattern)
		if !errors.As(err, new(*PatternError)) {
			t.Errorf("%s: %v, want a PatternError", pattern, err)
		}
	}
}

func TestRecordsAreAskedForWithWhatTheyTake(t *testing.T) {
	source := Source{Filter: "count > 1", Prepare: func(s *perfevent.Sampling) { s.IntrRegs |= 1 << 7 }}
	sampling := source.Sampling()
	if sampling.Raw || sampling.IntrRegs != 0 || sampling.Period != 1 || sampling.Filter != source.Filter {
		t.Errorf("a sampling without records is %+v", sampling)
	}
	if source.PrepareRecord(&sampling); !sampling.Raw || sampling.IntrRegs != 1<<7 {
		t.Errorf("a sampling with records is %+v", sampling)
	}
}
