package output

import (
	"fmt"
	"strconv"

	"github.com/ringtap/ringtap/internal/profile/timeline"
)

// firefoxMarker is a wait or a sample of another event than the one that the call tree counts.
type firefoxMarker struct {
	wait  *timeline.Wait // nil: event is set
	event *timeline.Sample
}

// mergeMarkers returns both lists in the order of time.
func mergeMarkers(waits []timeline.Wait, events []timeline.Sample) []firefoxMarker {
	all := make([]firefoxMarker, 0, len(waits)+len(events))
	for len(waits) > 0 || len(events) > 0 {
		if len(events) == 0 || len(waits) > 0 && waits[0].From <= events[0].Time {
			all, waits = append(all, firefoxMarker{wait: &waits[0]}), waits[1:]
		} else {
			all, events = append(all, firefoxMarker{event: &events[0]}), events[1:]
		}
	}
	return all
}

// Phases of markers.
const (
	phaseInstant  = "0"
	phaseInterval = "1"
)

// writeMarkers writes the waits and other events of a thread.
func (f *firefox) writeMarkers(th *timeline.Thread) {
	markers := mergeMarkers(th.Waits, f.others)
	value := func(ofWait func([]byte, *timeline.Wait) []byte, ofEvent func([]byte, *timeline.Sample) []byte) func([]byte, int) []byte {
		return func(dst []byte, i int) []byte {
			if w := markers[i].wait; w != nil {
				return ofWait(dst, w)
			}
			return ofEvent(dst, markers[i].event)
		}
	}
	writeColumns(f.out, len(markers), "",
		column{"name", value(
			func(dst []byte, w *timeline.Wait) []byte {
				return strconv.AppendInt(dst, int64(f.waits[w.Reason == timeline.Preempted]), 10)
			},
			func(dst []byte, s *timeline.Sample) []byte {
				return strconv.AppendInt(dst, int64(f.names[s.Metric]), 10)
			})},
		column{"startTime", value(
			func(dst []byte, w *timeline.Wait) []byte { return f.appendTime(dst, w.From) },
			func(dst []byte, s *timeline.Sample) []byte { return f.appendTime(dst, s.Time) })},
		column{"endTime", value(
			func(dst []byte, w *timeline.Wait) []byte { return f.appendTime(dst, w.To) },
			func(dst []byte, _ *timeline.Sample) []byte { return append(dst, "null"...) })},
		column{"phase", value(
			func(dst []byte, _ *timeline.Wait) []byte { return append(dst, phaseInterval...) },
			func(dst []byte, _ *timeline.Sample) []byte { return append(dst, phaseInstant...) })},
		column{"category", value(
			func(dst []byte, _ *timeline.Wait) []byte { return strconv.AppendInt(dst, categoryWait, 10) },
			func(dst []byte, _ *timeline.Sample) []byte { return strconv.AppendInt(dst, categoryOther, 10) })},
		column{"data", value(f.appendWait, f.appendEvent)})
}

// appendWait appends what a wait's marker says: see firefoxSchemas.
func (f *firefox) appendWait(dst []byte, w *timeline.Wait) []byte {
	dst = fmt.Appendf(dst, `{"type":"wait","reason":"%s"`, w.Reason)
	if w.NoEnd {
		dst = append(dst, `,"end":"not recorded: here the thread ran again, or the recording ends"`...)
	}
	return append(f.appendCause(dst, w.Row), '}')
}

// appendEvent appends what the marker of another event says.
func (f *firefox) appendEvent(dst []byte, s *timeline.Sample) []byte {
	dst = fmt.Appendf(dst, `{"type":"event","count":%d`, scaled(s.Weight, &f.p.Metrics[s.Metric]))
	if s.CPU != timeline.NoCPU {
		dst = fmt.Appendf(dst, `,"cpu":%d`, s.CPU)
	}
	return append(f.appendCause(dst, s.Row), '}')
}

// appendCause appends the stack of a marker, if it has one.
func (f *firefox) appendCause(dst []byte, row int32) []byte {
	if stack := f.tables.stack(row); stack >= 0 {
		dst = fmt.Appendf(dst, `,"cause":{"stack":%d}`, stack)
	}
	return dst
}
