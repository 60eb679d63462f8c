package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestFilesAreReadForTenSecondsAfterTheEnd(t *testing.T) {
	const duration = time.Hour
	for _, test := range []struct {
		name     string
		duration time.Duration
		canceled time.Duration // when the context is canceled
		want     time.Duration
	}{
		{"ended by the user", 0, time.Minute, time.Minute + grace},
		{"ended by the user before its duration", duration, time.Minute, time.Minute + grace},
		{"ended by its duration", duration, 2 * duration, duration + grace},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			began := time.Now()
			var e end
			e.watch(ctx, nil)
			defer e.close()
			e.after(test.duration)
			if since, ended := e.since(); ended {
				t.Errorf("%s: ended since %v before it began", test.name, since)
			}
			time.AfterFunc(test.canceled, cancel)
			<-e.late
			if got := time.Since(began); got != test.want {
				t.Errorf("%s: late after %v, want %v", test.name, got, test.want)
			}
			if since, ended := e.since(); !ended || since != grace {
				t.Errorf("%s: ended %t since %v, want %v", test.name, ended, since, grace)
			}
		})
	}
}

func TestARunThatIsClosedIsNeverLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		var e end
		e.watch(ctx, nil)
		e.after(time.Second)
		e.close()
		cancel()
		time.Sleep(time.Hour)
		select {
		case <-e.late:
			t.Error("late after its end")
		default:
		}
	})
}

func TestAfterCallsItsFunctionOnceAndWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		calls := 0
		stop := After(ctx, time.Second, func() { time.Sleep(time.Second); calls++ })
		cancel()
		time.Sleep(3 * time.Second / 2) // in the middle of the call
		stop()
		stop()
		if calls != 1 {
			t.Errorf("called %d times before stop returned, want 1", calls)
		}
	})
}
