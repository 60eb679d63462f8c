package kprobe_test

import (
	"fmt"
	"log"

	"github.com/ringtap/ringtap/kprobe"
)

func ExampleKernelTypes() {
	types := kprobe.KernelTypes("testdata/types") // "" for the running kernel's
	for _, path := range []string{"item->next->text.name", "item->mood", "$args"} {
		args, err := types.Fetch(kprobe.Function{Name: "pointers"}, false, kprobe.Arg{Path: path})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(args)
	}
	_, err := types.Fetch(kprobe.Function{Name: "pointers"}, false, kprobe.Arg{Path: "item->nxt"})
	fmt.Println(err)
	// Output:
	// [name=+0(+24(+8($arg1))):string]
	// [mood=+156($arg1):s32]
	// [item=$arg1:x64 name=+0($arg2):string list=$arg3:x64 buffer=$arg4:x64 size=$arg5:u64 sk=$arg6:x64]
	// struct item has no member nxt; did you mean next?
	//   item->nxt
	//         ^
}
