package oncpu_test

import (
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
	"github.com/ringtap/ringtap/perfevent"
)

// Of the samples in the innermost function of such a program all have its chain, but for those in a handler of a
// signal, by which Go preempts.
func TestLiveChainsThatComeBackToAStackAreWhole(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, program := range truth.Programs() {
		if !program.Returns {
			continue
		}
		t.Run(program.Name, func(t *testing.T) {
			built := program.Build(t)
			collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 199,
				Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Interpreted: true, Beyond: true}}
			testlimit.Enough(t, 1000, func(ms int) bool {
				p, _ := livetest.Run(t, built.Command(float64(ms)/1000), perfevent.Started, collector, 0)
				var all, right uint64
				wrong := make(map[string]uint64)
				for _, row := range p.Rows {
					if row.User == profile.None {
						continue
					}
					names := livetest.Chain(p, row.User)
					if n := len(names); n == 0 || names[n-1] != built.Chain[len(built.Chain)-1] {
						continue
					}
					all += row.Values[0]
					if err := built.Match(names); err != nil {
						wrong[err.Error()] += row.Values[0]
						continue
					}
					right += row.Values[0]
				}
				for text, n := range wrong {
					t.Logf("%d of %d samples: %s", n, all, text)
				}
				return all >= 100 && right*100 >= all*99
			})
		})
	}
}
