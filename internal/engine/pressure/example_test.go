package pressure_test

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/engine/pressure"
)

func ExampleParse() {
	trigger, err := pressure.Parse("memory some 150000 2000000")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v of %v lost for want of %s\n", trigger.Threshold, trigger.Window, trigger.Resource)
	_, err = pressure.Parse("memory some 150000 100000")
	fmt.Println(err)
	// Output:
	// 150ms of 2s lost for want of memory
	// the threshold of 150ms is longer than the window of 100ms: give the threshold first, then the window, 500000 to 10000000 microseconds
}
