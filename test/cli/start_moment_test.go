package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// From the first title on no stop signal is lost, and no worker is left that was not
// signalled. With -soak there are 10,000 starts:
//
//	go test ./test/cli -run AtAnyMomentOfTheStart -soak
func TestStopSignalAtAnyMomentOfTheStartIsNotLost(t *testing.T) {
	harness.Usual(t)
	t.Run("some", func(t *testing.T) { stopAtTheStart(t, 4) })
	t.Run("many", func(t *testing.T) {
		harness.Full(t)
		starts := 40
		if *harness.SoakWhole {
			starts = 10_000 / (2 * 4)
		}
		stopAtTheStart(t, starts)
	})
}

// stopAtTheStart starts so many drainits for each of four signals, as PID 1 and not.
func stopAtTheStart(t *testing.T, starts int) {
	all := []string{"TERM", "INT", "USR2", "RTMIN+5"}
	numbers := map[string]unix.Signal{"TERM": unix.SIGTERM, "INT": unix.SIGINT, "USR2": unix.SIGUSR2, "RTMIN+5": 39}
	const seed = 14
	for _, name := range all {
		t.Run(name, func(t *testing.T) {
			var flags []string
			if name != "TERM" && name != "INT" {
				flags = []string{"--stop-signal", name}
			}
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				random := rand.New(rand.NewPCG(seed, uint64(numbers[name])))
				for range starts {
					p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line(flags, "sleep", "1000")})
					spinToTitle(p)
					time.Sleep(time.Duration(random.Int64N(int64(5 * time.Millisecond)))) // what is tested
					p.Signal(numbers[name])
					p.WantExit(128 + int(numbers[name]))
				}
			})
		})
	}
}

// spinToTitle waits for the first title, without a sleep: a look takes microseconds.
func spinToTitle(p *harness.Init) {
	p.T.Helper()
	for deadline := time.Now().Add(harness.Patience); ; {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.Pid()))
		if err == nil && strings.HasPrefix(string(comm), "drainit:") {
			return
		}
		if time.Now().After(deadline) {
			p.T.Fatalf("no title: %q, %v", comm, err)
		}
	}
}
