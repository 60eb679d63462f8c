package uprobe_test

import (
	"fmt"
	"log"
	"os"

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

// A definition leads to instructions of a file. Resolve reads files only and needs no
// privileges; here it finds a function of this program, which is Go's, so that its
// return is probed at its return instructions.
func Example() {
	answer()
	program, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	d, err := uprobe.Parse(`r:` + program + `:"github.com/ringtap/ringtap/uprobe_test.answer" $retval:s32`)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := uprobe.Resolve(d, uprobe.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()
	for _, site := range plan.Sites {
		fmt.Println(site.Symbol, site.Return, len(site.Args))
	}
	// Output: github.com/ringtap/ringtap/uprobe_test.answer false 1
}

//go:noinline
func answer() int { return 42 }
