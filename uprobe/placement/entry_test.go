package placement

import (
	"debug/elf"
	"encoding/hex"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func function(t testing.TB, machine elf.Machine, code string) *Function {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return &Function{Machine: machine, Code: b, Addr: 0x401000}
}

func TestAnEntryProbeMovesOnlyWhereNothingIsLost(t *testing.T) {
	const x86, arm = elf.EM_X86_64, elf.EM_AARCH64
	for _, test := range []struct {
		name    string
		machine elf.Machine
		code    string
		skip    int
		why     string // a part of it
	}{
		{"test before a branch is passed over", x86, "4885ff 7401 c3 c3", 3, "test %rdi,%rdi"},
		{"endbr64 before a push is passed over", x86, "f30f1efa 4157 c3", 4, "push %r15"},
		{"several instructions are passed over", x86, "f30f1efa 4885ff 39f7 7401 c3 c3", 9, "endbr64"},
		{"a variable of the object may be compared", x86, "803d1122330000 7401 c3 c3", 7, "cmpb"},
		{"a copy to a vector register is passed over where the kernel refuses it", x86, "62e27d487ac6 4889f8 c3", 6, "allows no probe"},
		{"so is a shorter one", x86, "c5f96ec6 4889f8 c3", 4, "allows no probe"},
		{"a load to a vector register stays", x86, "c5f96e06 4889f8 c3", 0, "changes what"},
		{"a push stays", x86, "55 c3", 0, ""},
		{"a one-byte nop stays", x86, "90 4885ff 7401 c3 c3", 0, ""},
		{"a long nop is passed over, as only newer kernels emulate it", x86, "0f1f4000 55 c3", 4, "push"},
		{"memory of the caller's may not be read", x86, "803f00 7401 c3 c3", 0, "cmpb"},
		{"thread-local memory may not be read", x86, "64833c251800000000 7401 c3 c3", 0, "changes what"},
		{"a written register stops", x86, "31c0 7401 c3 c3", 0, "xor %eax,%eax"},
		{"a moved stack pointer stops", x86, "4883ec18 7401 c3 c3", 0, "sub"},
		{"a return is not reached", x86, "4885ff c3", 0, "retq"},
		{"a jump into what is passed over stops", x86, "4885ff 7401 c3 ebfb", 0, "leads to +0x3"},
		{"a jump to the first instruction doesn't", x86, "4885ff 7401 c3 ebf8", 3, "test"},
		{"a jump that goes anywhere stops", x86, "4885ff 7401 c3 ffe0", 0, "target of the jump"},
		{"an indirect call doesn't", x86, "4885ff 7401 c3 ffd0 c3", 3, "test"},
		{"data behind the code stops", x86, "4885ff 7401 c3 06", 0, "no known instruction"},
		{"too much stops", x86, "4885ff 4885ff 4885ff 4885ff 4885ff 4885ff 4885ff 7401 c3 c3", 0, "is near"},
		{"the function's end stops", x86, "4885ff", 0, "ends"},
		{"an unknown size stops", x86, "", 0, "size"},
		{"a branch with a hint that the kernel refuses stops", x86, "4885ff 2e7401 c3 c3", 0, "changes what"},
		{"an unknown machine stops", elf.EM_RISCV, "4885ff", 0, "no known instruction"},

		{"cmp before a branch is passed over on arm64", arm, "1f0000f1 40000054 c0035fd6 c0035fd6", 4, "cmp x0"},
		{"bti and tst", arm, "5f2403d5 1f0040f2 40000054 c0035fd6 c0035fd6", 8, "b.eq"},
		{"adrp stays", arm, "00000090 c0035fd6", 0, ""},
		{"a signed return address stops", arm, "3f2303d5 40000054 c0035fd6", 0, "changes what"},
		{"a load stops", arm, "000040f9 40000054 c0035fd6", 0, "ldr"},
		{"a jump into what is passed over stops on arm64", arm, "1f0000f1 40000054 c0035fd6 feffff17", 0, "leads to +0x4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := function(t, test.machine, test.code)
			skip, why := f.Entry()
			if skip != test.skip || !strings.Contains(why, test.why) || test.why == "" && why != "" {
				t.Errorf("moves by %d: %q", skip, why)
			}
			if skip > 0 && (f.Boundary(skip) != nil || f.Probeable(skip) != nil) {
				t.Errorf("no probe can be placed there: %v", f.Probeable(skip))
			}
		})
	}
}

// TestPeerGoFunctionsMoveBehindTheStackCheck compares with the disassembly of
// Go's own tool: the check ends with the first JBE or BLS.
func TestPeerGoFunctionsMoveBehindTheStackCheck(t *testing.T) {
	for arch, branch := range map[string]string{"amd64": "JBE", "arm64": "BLS"} {
		t.Run(arch, func(t *testing.T) {
			path := goProgram(t, arch)
			out, err := exec.Command("go", "tool", "objdump", path).Output()
			if err != nil {
				t.Fatal(err)
			}
			type place struct{ start, after uint64 }
			want := map[string]place{} // by function: where the check ends
			name, grows := "", map[string]bool{}
			ended := false // the line before was the branch
			for l := range strings.Lines(string(out)) {
				if rest, ok := strings.CutPrefix(l, "TEXT "); ok {
					name, _, _ = strings.Cut(rest, "(SB)")
					ended = false
					continue
				}
				fields := strings.Fields(l)
				if len(fields) < 4 {
					continue
				}
				addr, err := strconv.ParseUint(fields[1], 0, 64)
				if err != nil {
					continue
				}
				p := want[name]
				if p.start == 0 {
					p.start = addr
				}
				if ended {
					p.after = addr
				}
				want[name] = p
				ended = p.after == 0 && fields[3] == branch
				if fields[3] == "CALL" && strings.Contains(l, "runtime.morestack") {
					grows[name] = true
				}
			}
			checks, missed := 0, 0
			for _, f := range functions(t, path) {
				skip, why := f.Entry()
				isCheck := strings.Contains(why, "Go's check")
				switch {
				case isCheck && (!grows[f.name] || f.Addr+uint64(skip) != want[f.name].after):
					t.Errorf("%s moves by %d, and the check ends at +%#x: %s", f.name, skip, want[f.name].after-f.Addr, why)
				case isCheck:
					checks++
				case grows[f.name] && !strings.Contains(why, "%fs:"): // not in assembly, which fetches its goroutine first
					if missed++; missed < 5 {
						t.Logf("%s calls morestack and moves by %d: %s", f.name, skip, why)
					}
				}
			}
			t.Logf("%d checks found, %d missed", checks, missed)
			if checks < 500 || missed > 0 {
				t.Errorf("%d stack checks found, %d missed", checks, missed)
			}
		})
	}
}

func TestAPlaceInsideAnInstructionIsNamed(t *testing.T) {
	f := function(t, elf.EM_X86_64, "55 4889e5 c5f877 62f17c480f00 c3")
	for _, test := range []struct {
		offset int
		want   string
	}{
		{0, ""}, {1, ""}, {4, ""},
		{2, `+0x2 is inside the instruction "mov %rsp,%rbp", which starts at +0x1 and has 3 bytes`},
		{6, `+0x6 is inside the instruction "vzeroupper", which starts at +0x4 and has 3 bytes`},
		{-1, "+-0x1 is not in the function, which has 0xe bytes"},
		{14, "+0xe is not in the function, which has 0xe bytes"},
	} {
		got := ""
		if err := f.Boundary(test.offset); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%d: %q", test.offset, got)
		}
	}
	var inside *NotBoundaryError
	if err := f.Boundary(3); !errors.As(err, &inside) || inside.Start != 1 || inside.Length != 3 {
		t.Errorf("%#v", err)
	}
	arm := function(t, elf.EM_AARCH64, "fd7bbfa9 c0035fd6 00000000")
	if err := arm.Boundary(2); !errors.As(err, &inside) || inside.Start != 0 || inside.Length != 4 {
		t.Errorf("%v", err)
	}
	var data *NotCodeError
	if err := arm.Boundary(8); !errors.As(err, &data) {
		t.Errorf("%v", err)
	}
	if err := function(t, elf.EM_X86_64, "55 06 c3").Boundary(2); !errors.As(err, &data) || data.Offset != 1 {
		t.Errorf("%v", err)
	}
}

func TestReturnsAreAllFound(t *testing.T) {
	for _, test := range []struct {
		name    string
		machine elf.Machine
		code    string
		want    []int
		err     string
	}{
		{"every form on amd64", elf.EM_X86_64, "c3 f3c3 f2c3 c20800 cb ca0800 55", []int{0, 1, 3, 5, 8, 9}, ""},
		{"every form on arm64", elf.EM_AARCH64, "c0035fd6 ff0b5fd6 ff0f5fd6 1f2003d5", []int{0, 4, 8}, ""},
		{"a byte that looks like one is none", elf.EM_X86_64, "b8c3c3c3c3 c3", []int{5}, ""},
		{"a constant that looks like one is none", elf.EM_AARCH64, "40000018 c0035fd6 c0035fd6", []int{4}, ""},
		{"padding behind the end is passed over", elf.EM_AARCH64, "c0035fd6 00000000", []int{0}, ""},
		{"a tail call", elf.EM_X86_64, "55 5d e900000000 90", nil, ""},
		{"a tail call out of the function", elf.EM_X86_64, "55 5d e900100000", nil, "ends in a jump at +0x2"},
		{"an endless loop", elf.EM_X86_64, "ebfe", nil, "never returns"},
		{"data before the end", elf.EM_X86_64, "c3 06 c3", nil, "no known instruction is at +0x1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := function(t, test.machine, test.code).Returns()
			if !slices.Equal(got, test.want) {
				t.Errorf("%v", got)
			}
			if err == nil && test.err != "" || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestProbesThatTheKernelWouldRefuseAreNamed(t *testing.T) {
	for _, test := range []struct {
		machine elf.Machine
		code    string
		want    string
	}{
		{elf.EM_X86_64, "f0ff07", `the kernel does not allow a probe on "lock incl (%rdi)" at +0x0: it has a lock prefix`},
		{elf.EM_X86_64, "c5f877", `the kernel does not allow a probe on "vzeroupper" at +0x0: the kernel takes it for another instruction`},
		{elf.EM_X86_64, "55", ""},
		{elf.EM_AARCH64, "007c5fc8", `the kernel does not allow a probe on "ldxr x0, [x0]" at +0x0: it is an exclusive access`},
		{elf.EM_AARCH64, "ff0b5fd6", `the kernel does not allow a probe on "ff 0b 5f d6" at +0x0: it is a branch with an authenticated address`},
		{elf.EM_AARCH64, "40000058", `the kernel does not allow a probe on "ldr x0, .+0x8" at +0x0: it loads relative to itself`},
		{elf.EM_AARCH64, "010000d4", `the kernel does not allow a probe on "svc #0x0" at +0x0: it raises an exception`},
		{elf.EM_AARCH64, "20423bd5", `the kernel does not allow a probe on "mrs x0, s3_3_c4_c2_1" at +0x0: it reads the interrupt mask`},
		{elf.EM_AARCH64, "40d03bd5", ""}, // mrs x0, tpidr_el0
		{elf.EM_AARCH64, "00fcdfc8", ""}, // ldar x0, [x0]
		{elf.EM_AARCH64, "fd7bbfa9", ""},
	} {
		got := ""
		if err := function(t, test.machine, test.code).Probeable(0); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q", test.code, got)
		}
	}
}
