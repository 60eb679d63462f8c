package live

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestHitsThatWaitAreHandledForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var slow impatience
		defer slow.begin(ctx)()
		var fast impatience
		defer fast.begin(ctx)()
		if slow.over() {
			t.Error("it is over before the end")
		}
		cancel()
		synctest.Wait()
		for range assured + 1 {
			if fast.over() {
				t.Fatal("hits are left out at once")
			}
		}
		time.Sleep(Patience)
		synctest.Wait()
		if !fast.over() {
			t.Error("the patience has no end")
		}
		if slow.over() {
			t.Error("the first hits are not assured")
		}
		time.Sleep(longest - Patience)
		synctest.Wait()
		if !slow.over() {
			t.Error("slow hits have no end")
		}
	})
}
