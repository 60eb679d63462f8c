package helper_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/perfevent"
)

// stackTop is a Visitor that keeps the word at the top of the stack.
type stackTop struct{}

func (stackTop) Visit(v *helper.Visit) error {
	sp := 7 // PERF_REG_X86_SP
	if runtime.GOARCH == "arm64" {
		sp = 31 // PERF_REG_ARM64_SP
	}
	_, err := v.Load(v.Register(sp), 8)
	return err
}

func newStackTop([]byte) (helper.Visitor, error) { return stackTop{}, nil }

func TestMain(m *testing.M) {
	helper.ServeTests(map[string]helper.NewVisitor{"stack top": newStackTop})
	os.Exit(m.Run())
}

// A program's main function starts with this call. Here TestMain makes it:
//
//	helper.Serve(map[string]helper.NewVisitor{"stack top": newStackTop})
func Example() {
	busy := exec.Command("sh", "-c", "while :; do :; done")
	check(busy.Start())
	defer busy.Wait()
	defer busy.Process.Kill()
	clock := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 99}
	reader, err := helper.Start(perfevent.Process(busy.Process.Pid), []perfevent.Sampling{clock}, "stack top", nil, helper.Options{})
	check(err)
	ctx, cancel := context.WithCancel(context.Background())
	exact := 0
	check(reader.Read(ctx, func(r *helper.Reading) error {
		if r.Certainty == helper.Exact && len(r.Data) == 8 {
			exact++
		}
		if exact == 20 {
			cancel()
		}
		return nil
	}))
	check(reader.Close())
	fmt.Println("read exactly:", exact >= 20)
	// Output: read exactly: true
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
