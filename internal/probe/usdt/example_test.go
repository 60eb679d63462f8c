package usdt_test

import (
	"debug/elf"
	"fmt"

	"github.com/ringtap/ringtap/internal/probe/usdt"
)

func ExampleProbe_FetchArgs() {
	p := usdt.Probe{Provider: "server", Name: "query__start", Args: "8@%rdi -4@-20(%rbp) 8@(%rax,%rbx,8)"}
	args, err := p.FetchArgs(elf.EM_X86_64)
	for _, arg := range args {
		fmt.Println(arg)
	}
	fmt.Println(err)
	// Output:
	// arg1=%di:u64
	// arg2=-20(%bp):s32
	// argument 3 of server:query__start, "8@(%rax,%rbx,8)": the kernel can't fetch memory at an index that is in a register
}
