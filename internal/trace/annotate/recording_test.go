package annotate

import (
	"debug/elf"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/engine/recording"
	"github.com/ringtap/ringtap/internal/object/buildid"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/recordtest"
	"github.com/ringtap/ringtap/perfevent"
)

// program is a compiled program, and where it is mapped in recordings.
type program struct {
	path, source string
	functions    map[string]elf.Symbol
	start        uint64 // address of the mapping of file offset 0
}

// compile compiles testdata/sums.c in a directory of the test, where its source stays. It skips the test
// if the compiler is missing.
func compile(t *testing.T, compiler ...string) *program {
	t.Helper()
	dir := t.TempDir()
	command := append(compiler, "-O2", "-g", "-fPIE", "-pie", "-o", "sums", filepath.Join(dir, "sums.c"), "-Wl,--build-id")
	err := compiled.Recipe{Sources: compiled.Sources(t, "testdata/sums.c"), Commands: [][]string{command}}.Make(dir)
	var missing *compiled.MissingError
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &program{path: filepath.Join(dir, "sums"), source: filepath.Join(dir, "sums.c"), functions: make(map[string]elf.Symbol), start: 0x560000000000}
	f, err := elf.Open(p.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		p.functions[s.Name] = s
	}
	return p
}

// hit is samples at an address of a program.
type hit struct {
	event   int
	address uint64 // in the ELF file; the program's code has offsets that equal addresses
	period  uint64
	samples int
	mode    uint16 // 0 is user
	jit     bool   // the address is in generated code
	idle    bool   // it is the idle task's
}

// jitStart is the address of generated code in recordings.
const jitStart = 0x7f0000000000

// record writes a recording of a process that has mapped the program, with samples of the events
// cpu-clock and page-faults, and returns its path.
func (p *program) record(t *testing.T, machine string, hits ...hit) string {
	t.Helper()
	const pid = 1234
	events := []perfdata.Event{
		recordtest.SoftwareEvent("cpu-clock", unix.PERF_COUNT_SW_CPU_CLOCK, 1, unix.PERF_SAMPLE_PERIOD),
		recordtest.SoftwareEvent("page-faults", unix.PERF_COUNT_SW_PAGE_FAULTS, 2, unix.PERF_SAMPLE_PERIOD),
	}
	id, err := buildID(p.path)
	if err != nil {
		t.Fatal(err)
	}
	records := []perfevent.Record{&perfevent.Comm{PID: pid, TID: pid, Name: []byte("sums")}, &perfevent.Mmap{Header: perfevent.Header{Misc: unix.PERF_RECORD_MISC_USER}, PID: pid, TID: pid, Addr: p.start, Len: 1 << 20,
		Prot: unix.PROT_READ | unix.PROT_EXEC, Filename: []byte(p.path), BuildID: id}, &perfevent.Mmap{Header: perfevent.Header{Misc: unix.PERF_RECORD_MISC_USER}, PID: pid, TID: pid, Addr: jitStart, Len: 1 << 20,
		Prot: unix.PROT_READ | unix.PROT_EXEC, Filename: []byte("//anon")}}
	time := uint64(1)
	for _, h := range hits {
		mode, ip := h.mode, p.start+h.address
		if mode == unix.PERF_RECORD_MISC_KERNEL || h.jit {
			ip = h.address
		}
		if mode == 0 {
			mode = unix.PERF_RECORD_MISC_USER
		}
		sample := perfevent.Sample{Header: perfevent.Header{Misc: mode, PID: pid, TID: pid, ID: uint64(h.event) + 1}, IP: ip, Period: h.period}
		if h.idle {
			sample.PID, sample.TID = 0, 0
		}
		for range h.samples {
			time++
			one := sample
			one.Time = time
			records = append(records, &one)
		}
	}
	symbols := []perfdata.SymbolTable{
		{Path: "[kernel.kallsyms]", Kind: perfdata.KernelSymbols, Symbols: []perfdata.Symbol{
			{Name: "vfs_read", Address: 0xffffffff81000000, Size: 0x100}, {Name: "default_idle", Address: 0xffffffff81000100, Size: 0x100}}},
		{Path: "/tmp/perf-1234.map", Kind: perfdata.GeneratedSymbols, Symbols: []perfdata.Symbol{{Name: "LJava;generated", Address: jitStart, Size: 0x100}}},
	}
	return recordtest.Write(t, events, perfdata.Info{Arch: machine}, perfdata.Sections{Symbols: symbols}, records...)
}

func buildID(path string) ([]byte, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	note, err := f.Section(".note.gnu.build-id").Data()
	if err != nil {
		return nil, err
	}
	return note[16:], nil // after the note's header and name
}

// run annotates a function of a recording.
func run(t *testing.T, path string, o Options) (*Listing, error) {
	t.Helper()
	f, err := perfdata.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	none := func(recording.Kernel) (io.ReadCloser, error) { return nil, errors.New("not needed") }
	source, err := recording.New(f, recording.Options{Files: buildid.Files{}, Kallsyms: none})
	if err != nil {
		t.Fatal(err)
	}
	o.Source, o.Events, o.Made = source, source.Events, f.Modified()
	l, _, err := Run(t.Context(), o)
	return l, err
}

// written returns the text of a listing.
func written(t *testing.T, l *Listing, o TextOptions) string {
	t.Helper()
	var text strings.Builder
	if err := l.Write(&text, o); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// firstNumber returns the percentage at the start of a line, or 0 if it has none.
func firstNumber(line string) float64 {
	word, _, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
	percent, err := strconv.ParseFloat(word, 64)
	if err != nil || !strings.Contains(word, ".") {
		return 0
	}
	return percent
}
