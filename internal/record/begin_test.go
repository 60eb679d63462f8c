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

func TestModulesAreThoseWithAnAddress(t *testing.T) {
	for line, want := range map[string]bool{
		"ext4 1060864 1 - Live 0xffffffffc0512000\n":        true,
		"jbd2 192512 1 ext4, Live 0xffffffffc04d0000 (E)\n": true,
		"ext4 1060864 1 - Live 0x0000000000000000\n":        false, // hidden
		"ext4 much 1 - Live 0xffffffffc0512000\n":           false,
		"ext4\n": false,
		"veth 40960 0 - Unloading 0xffffffffc0300000 (O-)\n": true,
	} {
		if name, address, size, ok := module(line); ok != want || ok && (name == "" || address>>32 != 0xffffffff || size == 0) {
			t.Errorf("%q: %s at %#x with %d bytes, %v", line, name, address, size, ok)
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
