package script

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/perfdata"
)

const everything = unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU

func TestFieldsAreThoseAskedForThatSamplesHave(t *testing.T) {
	for _, test := range []struct {
		list       string // "": no list
		kind       uint32
		sampleType uint64
		callchains bool
		want       fields
		err        string
	}{
		{"", unix.PERF_TYPE_SOFTWARE, everything, false, defaultFields, ""},
		{"", unix.PERF_TYPE_SOFTWARE, everything &^ unix.PERF_SAMPLE_CPU, false, defaultFields &^ fieldCPU, ""},
		{"", unix.PERF_TYPE_TRACEPOINT, everything, false, tracepointFields, ""},
		{"", unix.PERF_TYPE_TRACEPOINT, everything, true, tracepointFields | frameFields, ""},
		{"+pid", unix.PERF_TYPE_TRACEPOINT, everything, true, tracepointFields | fieldPID, ""},
		{"comm,trace", unix.PERF_TYPE_SOFTWARE, everything, true, fieldComm, ""},
		{"+pid,-period", unix.PERF_TYPE_HARDWARE, everything, true, defaultFields&^fieldPeriod | fieldPID, ""},
		{"comm,ip,sym", unix.PERF_TYPE_HARDWARE, everything, true, fieldComm | fieldIP | fieldSym, ""},
		{"comm,cpu", unix.PERF_TYPE_HARDWARE, unix.PERF_SAMPLE_IP, true, 0, "have no cpu"},
		{"+cpu", unix.PERF_TYPE_HARDWARE, unix.PERF_SAMPLE_IP, true, 0, "have no cpu"},
		{"comm,+pid", 0, everything, true, 0, "with and without"},
		{"", 0, 0, false, fieldComm | fieldPeriod | fieldEvent, ""},
		{"ip,symoff", 0, everything, true, 0, "no sym"},
		{"command", 0, everything, true, 0, "comm"},
		{"++pid", 0, everything, true, 0, "one + or -"},
		{"comm,", 0, everything, true, 0, "no field"},
	} {
		var f Fields
		var err error
		if test.list != "" {
			f, err = ParseFields(test.list)
		}
		event := perfdata.Event{Name: "cycles"}
		event.Attr.Type, event.Attr.Sample_type = test.kind, test.sampleType
		var got fields
		if err == nil {
			got, err = f.of(&event, []perfdata.Event{event}, test.callchains)
		}
		if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: %b, %v; want %b, %q", test.list, got, err, test.want, test.err)
		}
	}
}
