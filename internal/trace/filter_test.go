package trace

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/probe/eventfilter"
)

func TestHitsThatAFilterLeavesOutAreCountedByReason(t *testing.T) {
	source := capture.Open(t, "lines")
	sources := source.Sources(t)
	n := 0
	sources[0].Keep = func([]byte) eventfilter.Answer {
		n++
		return []eventfilter.Answer{eventfilter.Yes, eventfilter.No, eventfilter.Unknown, eventfilter.No}[n%4]
	}
	var out bytes.Buffer
	account, err := followed(t, source, Options{Sources: sources, Out: &out})
	if err != nil || account.Shown != 10 || account.Filtered != 20 || account.Unread != 10 || strings.Count(out.String(), "\n") != 10 {
		t.Errorf("%+v, %v\n%s", account, err, out.String())
	}
}

func TestRecordsThatAreAsideAreForOthers(t *testing.T) {
	source := capture.Open(t, "lines")
	var out bytes.Buffer
	account, err := followed(t, source, Options{Out: &out})
	if err != nil || account.Shown != 0 || out.Len() > 0 || len(account.Events) != 0 {
		t.Errorf("%+v, %v\n%s", account, err, out.String())
	}
}
