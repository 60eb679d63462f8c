package uprobe_test

import (
	"fmt"

	"github.com/ringtap/ringtap/uprobe"
)

func ExampleParse() {
	d, err := uprobe.Parse(`r:answer libm:"std::pow(double, int)" $retval:s32`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%c %s %s %q %s\n", d.Kind, d.Alias, d.Target, d.Symbol, d.Args[0].Fetch.Fetch)

	_, err = uprobe.Parse("p:libc:fopen(char const*")
	fmt.Println(err)
	// Output:
	// r answer libm "std::pow(double, int)" $retval
	// invalid probe: this ( is never closed; quote a name that is to be taken as it is
	//   p:libc:fopen(char const*
	//               ^
}

// What a program or library offers to be probed, and where a definition leads.
// It reads files only and needs no privileges.
func ExampleResolve() {
	d, err := uprobe.Parse("p:libc:no_such_function")
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := uprobe.Resolve(d, uprobe.Options{})
	if err != nil {
		fmt.Println("not resolved")
		return
	}
	defer plan.Close()
	for _, site := range plan.Sites {
		fmt.Printf("%s at %#x\n", site.Symbol, site.Offset)
	}
	// Output: not resolved
}
