package usdt

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
)

func TestOperandsBecomeFetchArguments(t *testing.T) {
	tests := []struct {
		machine    elf.Machine
		args, want string // "!N" for the Nth argument that can't be fetched
	}{
		{elf.EM_X86_64, "", ""},
		{elf.EM_X86_64, "-4@%edi", "arg1=%di:s32"},
		{elf.EM_X86_64, "8@%r15  1@%r9b 2@%bp -8@%rsp", "arg1=%r15:u64 arg2=%r9:u8 arg3=%bp:u16 arg4=%sp:s64"},
		{elf.EM_X86_64, "1@%ah -1@%bh", "arg1=%ax:b8@8/16 !2"},
		{elf.EM_X86_64, "-4@$-1 8@$0x10 8@$18446744073709551615", `arg1=\-1:s32 arg2=\16:u64 arg3=\-1:u64`},
		{elf.EM_X86_64, "8@-16(%rbp) 4@(%rax) 4@8(%rsp)", "arg1=-16(%bp):u64 arg2=+0(%ax):u32 arg3=+8(%sp):u32"},
		{elf.EM_X86_64, "8@-8(%rbp,%rax,8) 8@(,%rdi,4) 4@%edi", "!1 !2 arg3=%di:u32"},
		{elf.EM_X86_64, "4@counter(%rip) 4@8+counter(%rip) 4@counter-4+2(%rip) 4@counter",
			"arg1=+11008(%ip):u32 arg2=+11016(%ip):u32 arg3=+11006(%ip):u32 arg4=+11008(%ip):u32"},
		{elf.EM_X86_64, "4@nowhere(%rip) 4@twins(%rip) 4@12(%rip) 8@counter@GOTPCREL(%rip)", "!1 !2 !3 !4"},
		{elf.EM_X86_64, "8@%fs:16 8@$counter 8@%xmm0 8f@%xmm0 16@%rax 3@%rax", "!1 !2 !3 !4 !5 !6"},
		{elf.EM_X86_64, "%rdi $5", `arg1=%di:u64 arg2=\5:u64`},
		{elf.EM_386, "%edi -1@%cl 1@%dh 2@-4(%ebp)", "arg1=%di:u32 arg2=%cx:s8 arg3=%dx:b8@8/16 arg4=-4(%bp):u16"},
		{elf.EM_X86_64, "8@ @ 8 8@) 8@() 8@$ 8@% 8@x(%rax) 8@(%rax 8@%rax", "!1 !2 !3 !4 !5 !6 !7 !8 !9"},
		{elf.EM_AARCH64, "-4@w0 8@x30 8@sp 8@x29 8@fp 8@lr 4@wsp", "arg1=%x0:s32 arg2=%x30:u64 arg3=%sp:u64 arg4=%x29:u64 arg5=%x29:u64 arg6=%x30:u64 arg7=%sp:u32"},
		{elf.EM_AARCH64, "4@[sp, 16] 4@[sp,-8] 8@[x19] 8@[x0, #24]",
			"arg1=+16(%sp):u32 arg2=-8(%sp):u32 arg3=+0(%x19):u64 arg4=+24(%x0):u64"},
		{elf.EM_AARCH64, "-4@-5 8@#7 8@xzr 4@0x10", `arg1=\-5:s32 arg2=\7:u64 arg3=\0:u64 arg4=\16:u32`},
		{elf.EM_AARCH64, "8@[x0, x1] 8@[x0, w1, sxtw 3] 8@[w0] 8@x31 8@d0 8@[x0, :lo12:counter] 8@x01", "!1 !2 !3 !4 !5 !6 !7"},
		{elf.EM_RISCV, "8@a0", "!1"},
	}
	for _, test := range tests {
		// The nop is at offset 0x500 and address 0x1500, the variable at 0x4000.
		p := Probe{Provider: "p", Name: "n", Args: test.args, Location: 0x500, vaddr: 0x1500,
			globals: map[string]uint64{"counter": 0x4000, "twins": ambiguous}}
		args, err := p.FetchArgs(test.machine)
		if got := describe(t, args, err); got != test.want {
			t.Errorf("%s %q:\n got %s\nwant %s (%v)", test.machine, test.args, got, test.want, err)
		}
	}
}

// describe writes arguments, and a mark for those that an error is about, in
// their order.
func describe[T fmt.Stringer](t *testing.T, args []T, err error) string {
	t.Helper()
	failed := map[int]bool{}
	if err != nil {
		var joined interface{ Unwrap() []error }
		if !errors.As(err, &joined) {
			t.Fatalf("%v is not joined", err)
		}
		for _, err := range joined.Unwrap() {
			var arg *ArgError
			if !errors.As(err, &arg) || arg.reason == "" {
				t.Fatalf("%v is no ArgError with a reason", err)
			}
			failed[arg.Number] = true
		}
	}
	var words []string
	for number := 1; len(args) > 0 || len(failed) > 0; number++ {
		if failed[number] {
			words = append(words, fmt.Sprint("!", number))
			delete(failed, number)
			continue
		}
		if len(args) == 0 {
			t.Fatalf("number %d is missing", number)
		}
		words, args = append(words, args[0].String()), args[1:]
	}
	return strings.Join(words, " ")
}

func TestTooManyArgumentsAreAnError(t *testing.T) {
	p := Probe{Args: strings.Repeat("8@%rax ", maxArgs+1)}
	if args, err := p.FetchArgs(elf.EM_X86_64); !errors.Is(err, ErrMalformed) {
		t.Errorf("%d arguments, %v", len(args), err)
	}
}

func FuzzFetchArgs(f *testing.F) {
	for _, args := range []string{
		"-4@%edi 8@-16(%rbp) 8@$5", "8@(%rax,%rbx,4) 4@counter+8(%rip)", "4@[sp, 16] 8@x0 -4@#-5", "8@[x0, w1, sxtw 3]", "1@%ah", "@",
	} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, args string) {
		p := Probe{Provider: "p", Name: "n", Args: args, globals: map[string]uint64{"counter": 0x4000}}
		for _, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_386, elf.EM_AARCH64} {
			list, _ := p.FetchArgs(machine)
			for _, arg := range list {
				// What is written into the file of dynamic events must stay one word
				// of the kernel's own letters.
				bad := func(r rune) bool {
					return r > unicode.MaxASCII || !unicode.IsPrint(r) || strings.ContainsRune(" #;", r)
				}
				if strings.ContainsFunc(arg.String(), bad) {
					t.Errorf("%q became %q", args, arg)
				}
			}
		}
	})
}
