package inspect

import (
	"bytes"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"drainit/test/harness"
)

// A drainit that gets its turn late, for others of its CPU limit have it, is stopped all the
// same: the verb goes on until its signals have been seen, and those that the kernel kept
// for so long that they count as one request are a force-stop, for the verb waits.
func TestForcedStopOfADrainitThatGetsItsTurnLate(t *testing.T) {
	harness.Full(t)
	harness.Need(t, "perl")
	g := harness.NewCPUCgroup(t)
	p := g.Run(harness.Launch{NoPID1: true, Args: harness.Line([]string{harness.LongGrace, "-v"}, harness.Script(`
		$SIG{TERM} = "IGNORE";
		for (1 .. 3) { spawn { 1 while 1 } }
		say "ready"; forever`)...)})
	p.WaitReady()
	g.Limit(10)
	var out bytes.Buffer
	verb := exec.Command(harness.DrainitBin, "stop", "--force", "--pid", strconv.Itoa(p.Pid()))
	verb.Stdout, verb.Stderr = &out, &out
	if err := verb.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second) // what is tested
	g.Lift()
	if err := verb.Wait(); err != nil {
		t.Fatalf("%v: %s%s", err, &out, p.Err())
	}
	p.WantExit(137)
	p.WantNothingLeft()
}

// One that has its turn and does not act is not waited for for ever.
func TestVerbOfADrainitThatDoesNotActSaysSo(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	harness.NeedAsk(t)
	p := entitled(t, "drainit:run")
	for _, verb := range [][]string{{"quiet"}, {"stop", "--force"}} {
		began := time.Now()
		p.Ask(verb...).Want(1, "", `is still running; is it rewritten \(--rewrite\), or the machine busy\?`)
		harness.WantTookAtLeast(t, began, 10*time.Second)
	}
}
