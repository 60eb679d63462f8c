package main

import (
	"debug/elf"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
	"github.com/ringtap/ringtap/internal/testkit/recordtest"
	"github.com/ringtap/ringtap/perfevent"
)

// The recording has a sample at each instruction of a program. perf names the padding between functions
// too, where nothing runs.
func TestPeerEachInstructionOfAProgramHasPerfsName(t *testing.T) {
	perfrecord.Need(t)
	t.Setenv("HOME", t.TempDir())
	program := knownStacks(t)
	text := sectionOf(t, program, ".text")
	const id, pid, base = 1, 1234, 0x560000000000
	var file unix.Stat_t
	if err := unix.Stat(program, &file); err != nil {
		t.Fatal(err)
	}
	records := []perfevent.Record{&perfevent.Comm{PID: pid, TID: pid, Name: []byte("program")}, &perfevent.Mmap{Header: perfevent.Header{Misc: unix.PERF_RECORD_MISC_USER}, PID: pid, TID: pid, Addr: base + text.Addr&^0xfff,
		Len: text.Size + 0x1000, Pgoff: text.Offset &^ 0xfff,
		Major: unix.Major(file.Dev), Minor: unix.Minor(file.Dev), Inode: file.Ino, Prot: unix.PROT_READ | unix.PROT_EXEC, Filename: []byte(program)}}
	instructions := instructionsOf(t, program, text.Name)
	for _, at := range instructions {
		records = append(records, &perfevent.Sample{Header: perfevent.Header{Misc: unix.PERF_RECORD_MISC_USER, PID: pid, TID: pid, Time: at, ID: id}, IP: base + at})
	}
	events := []perfdata.Event{recordtest.SoftwareEvent("cpu-clock", unix.PERF_COUNT_SW_CPU_CLOCK, id, 0)}
	path := recordtest.Write(t, events, perfdata.Info{}, perfdata.Sections{}, records...)
	want := strings.Split(perfrecord.Run(t, "script", "-i", path, "-F", "ip,sym"), "\n")
	got := strings.Split(printedScript(t, "-i", path, "-F", "ip,sym"), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-perf +ringtap):\n%.9000s", diff)
	}
	if len(instructions) < 100 || len(want) < len(instructions) {
		t.Errorf("perf has %d samples of %d", len(want), len(instructions))
	}
}

// instructionsOf returns the addresses of a section's instructions, without padding.
func instructionsOf(t *testing.T, path, section string) (addresses []uint64) {
	t.Helper()
	out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", "-j", section, path).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		address, instruction, found := strings.Cut(line, ":\t")
		if !found || strings.Contains(instruction, "nop") || strings.HasPrefix(instruction, "xchg   %ax,%ax") {
			continue
		}
		at, err := strconv.ParseUint(strings.TrimSpace(address), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, at)
	}
	return addresses
}

// sectionOf returns a section of an ELF file.
func sectionOf(t *testing.T, path, name string) elf.SectionHeader {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	section := file.Section(name)
	if section == nil {
		t.Fatalf("%s has no %s", path, name)
	}
	return section.SectionHeader
}
