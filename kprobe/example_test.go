package kprobe_test

import (
	"fmt"
	"log"

	"github.com/ringtap/ringtap/kprobe"
)

// What is probed is known before anything is attached. The lists are those of a
// Debian kernel; without Root they are the running kernel's.
func Example() {
	definition, err := kprobe.Parse("p:myopen do_sys_open filename=+0($arg2):string")
	if err != nil {
		log.Fatal(err)
	}
	plan, err := kprobe.Resolve(definition, kprobe.Options{Root: "testdata/amd64"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan)
	for _, note := range plan.Notes {
		fmt.Println("note:", note)
	}
	// Output:
	// p:myopen do_sys_open filename=+0($arg2):string
	// note: since Linux 5.6 most calls go past do_sys_open: probe do_sys_openat2 to see them all
}

// A function that is called otherwise today is told by its new name.
func ExampleSymbolError() {
	definition, err := kprobe.Parse("p:finish_task_switch")
	if err != nil {
		log.Fatal(err)
	}
	_, err = kprobe.Resolve(definition, kprobe.Options{Root: "testdata/amd64"})
	fmt.Println(err)
	// Output:
	// the kernel has no function finish_task_switch; today it is finish_task_switch.isra.0 (the compiler cloned it from finish_task_switch, and may have changed its arguments)
}

// A pattern stands for functions; in a list they are sorted.
func ExampleFunctions() {
	functions, err := kprobe.Functions("vfs_re*", kprobe.Options{Root: "testdata/amd64"})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range functions {
		fmt.Println(f.Name, f.Traceable)
	}
	// Output:
	// vfs_read true
	// vfs_readlink true
	// vfs_readv true
	// vfs_removexattr true
	// vfs_rename true
}
