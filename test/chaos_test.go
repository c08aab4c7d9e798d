package test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

var (
	chaosSeed = flag.Uint64("chaos.seed", 0, "run this round of the chaos test alone")
	chaosTime = flag.Duration("chaos.time", 0, "how long the chaos test begins new rounds: 30s if it is asked for by name, else 8s")
)

// chaosAtATime is how many rounds run at the same time.
const chaosAtATime = 4

// chaosKnown are rounds that have shown a fault, of drainit as it was broken on
// purpose or of the model: they come first. A change of what newChaosPlan draws
// makes others of them.
var chaosKnown = []uint64{
	1094073492, // children that no process signalled until the grace was nearly over
	1527060187, // nothing is left long before the grace is over
	3639034596, // TSTP below a worker that does not handle it
	440822175,  // HUP to a worker that handles it
	539115538,  // a shell and its successor
	2432156102, // a shell whose group was signalled: two could be its successors
	849621305,  // 264 processes, HUP and INT at once
	2672093163, // a group that forks while it is signalled
	1524452301, // a clean-up that a member of the group starts when it is signalled
	2179631006, // TERM behind a flood of WINCH
}

// TestChaos runs random trees of up to 300 processes under drainit, sends it
// random signals and holds what comes of it against a model of its own. A round
// is named by its seed:
//
//	go test ./test -run 'TestChaos$' -chaos.time 1h -timeout 2h
//	go test ./test -run 'TestChaos$' -chaos.seed 4711 -count 20
func TestChaos(t *testing.T) {
	need(t, "perl")
	t.Parallel()
	if *chaosSeed != 0 {
		chaosRound(t, *chaosSeed)
		return
	}
	until := time.Now().Add(chaosDuration())
	known := make(chan uint64, len(chaosKnown))
	for _, seed := range chaosKnown {
		known <- seed
	}
	var rounds sync.WaitGroup
	for range chaosAtATime {
		rounds.Go(func() {
			for time.Now().Before(until) {
				seed := uint64(rand.Uint32())
				select {
				case seed = <-known:
				default:
				}
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { chaosRound(t, seed) })
			}
		})
	}
	rounds.Wait()
}

func chaosDuration() time.Duration {
	switch {
	case *chaosTime > 0:
		return *chaosTime
	case flag.Lookup("test.run").Value.String() != "":
		return 30 * time.Second
	}
	return 8 * time.Second
}

func chaosRound(t *testing.T, seed uint64) {
	t.Helper()
	r := runChaos(t, newChaosPlan(seed))
	r.check()
	t.Logf("%v: exit status %d", r.plan, r.status)
}
