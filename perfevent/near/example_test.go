package near_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// stackTop keeps the word at the stack pointer.
type stackTop struct{}

func (stackTop) Visit(v *near.Visit) error {
	sp := 7 // of x86
	if runtime.GOARCH == "arm64" {
		sp = 31
	}
	_, err := v.Load(v.Register(sp), 8)
	return err
}

func newStackTop([]byte) (near.Visitor, error) { return stackTop{}, nil }

func TestMain(m *testing.M) {
	near.ServeTests(map[string]near.New{"stack top": newStackTop})
	os.Exit(m.Run())
}

// The main function of a program begins with near.Serve; here TestMain does:
//
//	near.Serve(map[string]near.New{"stack top": newStackTop})
func Example() {
	busy := exec.Command("sh", "-c", "while :; do :; done")
	check(busy.Start())
	defer busy.Wait()
	defer busy.Process.Kill()
	clock := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 99}
	reader, err := near.Start(perfevent.Process(busy.Process.Pid), []perfevent.Sampling{clock}, "stack top", nil, near.Options{})
	check(err)
	ctx, cancel := context.WithCancel(context.Background())
	exact := 0
	check(reader.Read(ctx, func(r *near.Reading) error {
		if r.Verdict.Kind == near.Exact && len(r.Data) == 8 {
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
