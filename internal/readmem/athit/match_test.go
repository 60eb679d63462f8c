package athit

import (
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/readmem/helper"
)

// readAt is a reading of thread 8 that lasts 40 µs from just before or after its sample.
func readAt(at uint64, data string) *helper.Reading {
	return &helper.Reading{TID: 8, Time: at, Data: []byte(data), Certainty: helper.Exact, Late: 40 * time.Microsecond}
}

func TestAReadingIsOfTheLastSampleBeforeItsEnd(t *testing.T) {
	const us = uint64(time.Microsecond)
	for _, test := range []struct {
		name     string
		samples  []uint64 // in µs
		readings []uint64
		want     []string // of each sample
	}{
		{"each behind its sample", []uint64{100, 150, 200}, []uint64{101, 151, 201}, []string{"101", "151", "201"}},
		{"each before its sample", []uint64{101, 151, 201}, []uint64{100, 150, 200}, []string{"100", "150", "200"}},
		{"none of the first", []uint64{100, 120, 170}, []uint64{121, 171}, []string{"", "121", "171"}},
		{"none of the second", []uint64{100, 150, 170}, []uint64{101, 171}, []string{"101", "", "171"}},
		{"the first sample lost", []uint64{150, 200}, []uint64{101, 151, 201}, []string{"151", "201"}},
		{"far away", []uint64{100}, []uint64{400}, []string{""}},
		{"long before", []uint64{400}, []uint64{100}, []string{""}},
		{"nothing", []uint64{100}, nil, []string{""}},
	} {
		m := matcher{threads: make(map[thread]*hits)}
		of := thread{tid: 8}
		for _, at := range test.readings {
			m.add(readAt(at*us, time.Duration(at).String()[:3]))
		}
		for _, at := range test.samples {
			m.saw(of, at*us)
		}
		for i, at := range test.samples {
			got := ""
			if r := m.take(of, at*us); r != nil {
				got = string(r.data)
			}
			if got != test.want[i] {
				t.Errorf("%s: sample %d has %q, want %q", test.name, at, got, test.want[i])
			}
		}
	}
}

func TestReadingsThatNobodyTakesAreForgotten(t *testing.T) {
	m := matcher{threads: make(map[thread]*hits)}
	for i := range uint64(maxReadings + 5000) {
		r := readAt(i*uint64(time.Millisecond), "")
		r.TID = uint32(i % 1000)
		m.add(r)
	}
	kept := 0
	for _, h := range m.threads {
		kept += len(h.readings)
	}
	if kept > maxReadings || len(m.order) > maxReadings {
		t.Errorf("%d readings are kept, of %d", kept, len(m.order))
	}
	for range 2 * maxSamples {
		m.saw(thread{tid: 1}, 1)
	}
	if n := len(m.threads[thread{tid: 1}].samples); n > maxSamples {
		t.Errorf("%d samples of a thread are kept", n)
	}
}
