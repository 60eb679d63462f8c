package perfdata_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/perfevent"
)

// A recording of one sample in a program that was mapped before.
func Example() {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Bits: unix.PerfBitSampleIDAll,
		Sample_type: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME}
	events := []perfdata.Event{{EventAttr: perfevent.EventAttr{Attr: attr, IDs: []uint64{1}}, Name: "cpu-clock"}}
	file, err := os.CreateTemp("", "perf.data")
	check(err)
	defer os.Remove(file.Name())
	w, err := perfdata.Create(file.Name(), events, perfdata.WriteOptions{Info: perfdata.Info{Hostname: "host", Arch: "x86_64"}})
	check(err)
	e, err := perfdata.NewEncoder(events)
	check(err)
	for _, r := range []perfevent.Record{
		perfdata.KernelMmap("[kernel.kallsyms]_text", 0xffffffff81000000, 0x1000000, 0xffffffff81000000),
		&perfevent.Comm{PID: 7, TID: 7, Name: []byte("true")},
		&perfevent.Mmap{PID: 7, TID: 7, Addr: 0x400000, Len: 0x1000, Prot: unix.PROT_READ | unix.PROT_EXEC, Filename: []byte("/bin/true")},
		&perfevent.Sample{Header: perfevent.Header{PID: 7, TID: 7, Time: 99, ID: 1, Misc: unix.PERF_RECORD_MISC_USER}, IP: 0x400100},
	} {
		raw, err := e.Append(nil, r)
		check(err)
		check(w.Record(raw))
	}
	check(w.Close(perfdata.Sections{}))

	f, err := perfdata.Open(file.Name())
	check(errors.Join(err, file.Close()))
	defer f.Close()
	_, err = f.Read(func(r perfevent.Record) error {
		if s, ok := r.(*perfevent.Sample); ok {
			fmt.Printf("%s %d %#x\n", f.Events[s.Sampling].Name, s.PID, s.IP)
		}
		return nil
	})
	check(err)
	// Output: cpu-clock 7 0x400100
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
