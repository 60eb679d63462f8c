package btf_test

import (
	"fmt"
	"log"
	"os"

	"github.com/ringtap/ringtap/internal/host/btf"
)

func Example() {
	data, err := os.ReadFile("testdata/types.btf") // or btf.Read(btf.Dir)
	if err != nil {
		log.Fatal(err)
	}
	types, err := btf.Parse(string(data), nil)
	if err != nil {
		log.Fatal(err)
	}
	for f := range types.Find(btf.Func, "find") {
		fmt.Println(f.Declare(f.Name()))
		from := f.Target().Param(0).Type.Resolve().Target()
		m, _ := from.Field("high")
		fmt.Printf("%s is %d bits into %s\n", m.Type.Declare(m.Name), m.Bit, from)
	}
	// Output:
	// struct outer *find(struct outer *, const char *, enum color)
	// u8 high is 72 bits into struct outer
}
