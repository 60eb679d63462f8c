package record

import (
	"os"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

func TestTheKernelsTextIsFromItsSymbols(t *testing.T) {
	const symbols = "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\nffffffff81000110 t x\t[m]\nffffffff82276508 T _etext\nffffffff82400000 R x\n"
	for name, tt := range map[string]struct {
		text       string
		begin, end uint64
	}{
		"known":  {symbols, 0xffffffff81000000, 0xffffffff82276508},
		"hidden": {strings.NewReplacer("81000000", "00000000", "82276508", "00000000", "ffffffff", "00000000").Replace(symbols), 0, 0},
		"none":   {"", 0, 0},
	} {
		begin, end, err := kernelText(strings.NewReader(tt.text))
		if err != nil || begin != tt.begin || end != tt.end {
			t.Errorf("%s: from %#x to %#x, %v", name, begin, end, err)
		}
	}
}

// This process's threads and code are what the host shows.
func TestProcessesHaveTheirThreadsAndCode(t *testing.T) {
	for _, data := range []bool{false, true} {
		var comms, code, others int
		err := writeProcesses(process.Host{}, []int{os.Getpid()}, data, func(r perfevent.Record) error {
			switch r := r.(type) {
			case *perfevent.Comm:
				if int(r.PID) != os.Getpid() || len(r.Name) == 0 {
					t.Errorf("%+v", r)
				}
				comms++
			case *perfevent.Mmap:
				if r.Prot&4 != 0 {
					code++
				} else {
					others++
				}
			}
			return nil
		})
		if err != nil || comms < 2 || code < 1 || (others > 0) != data {
			t.Errorf("data %v: %d threads, %d mappings of code, %d of data, %v", data, comms, code, others, err)
		}
	}
}
