package logging

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// With a stop delay a line marks the moment at which the worker is signalled. The TSTP of the
// delay is drainit's own idea: that none handles it is no warning.
func TestStopDelayMarksTheMomentOfTheSignal(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{harness.LongGrace, "--stop-delay=1s"}, harness.Script(`
			catch "TERM"; say "ready"; await "TERM"; exit 7`)...)})
		p.WaitOut(`^ready`)
		sent := time.Now()
		p.Signal(unix.SIGTERM)
		p.WantExit(7)
		p.WantLogged(`"level":"warn".*TSTP`, 0)
		marks := harness.Msgs(t, p.Err(), "SIGTERM sent to perl[")
		if len(marks) != 1 {
			t.Fatalf("%d lines say when SIGTERM was sent, want 1:\n%s", len(marks), p.Err())
		}
		const milli = time.Millisecond // the log's times are cut to one
		if late := marks[0].At(t).Add(milli).Sub(sent); late < time.Second {
			t.Errorf("the line came %v after the stop signal, and the worker was signalled after 1s:\n%s", late, p.Err())
		}
		if first := harness.JsonLines(t, p.Err())[0]; strings.Contains(first["msg"].(string), "SIGTERM sent to") {
			t.Errorf("the first line of the stop says that it was sent: %v", first)
		}
	})
}

// Every 5 s of a drain a line says that it goes on, who is left and for how long. A look at
// the processes that took long, on a busy machine, puts the next line off.
func TestProgressIsLoggedEachFiveSeconds(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	p := harness.Start(t, harness.LongGrace, "--", harness.WorkerBin, "listen", "-drain", "1h")
	pid := p.WaitOut(`^ready (\d+)`)[1]
	began := time.Now()
	p.Signal(unix.SIGTERM)
	p.WaitErr(`1 process left [\s\S]*1 process left `)
	p.Signal(unix.SIGTERM)
	p.WantExit(137)
	p.WantLogged(`second stop signal, force-stop: killing worker\[`+pid+`\]`, 1)
	most := 10 * time.Minute
	for i, line := range harness.Msgs(t, p.Err(), "draining, 1 process left (worker["+pid+"]), SIGKILL in ") {
		passed := time.Duration(i+1) * 5 * time.Second
		if since := line.At(t).Sub(began); since < passed-time.Second {
			t.Errorf("%v after the signal, want %v: %v", since, passed, line)
		}
		line.WantFields(t, "phase=draining left_s=")
		if left := line["left_s"].(float64); line["level"] != "info" || left > (most-passed+time.Second).Seconds() || left <= 0 {
			t.Errorf("%v", line)
		}
	}
}

// A worker that a shell became is named as what it is when it dies, however soon that is after
// its exec: as the kernel names it in its own log.
func TestKilledWorkerIsNamedAsWhatItHasBecome(t *testing.T) {
	harness.Need(t, "python3", "sh")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{harness.LongGrace, "--", "sh", "-c",
			`exec python3 -uc 'import os, time; print("ready", os.getpid()); time.sleep(3600)'`}})
		worker := p.ReadyPid(`^ready`)
		time.Sleep(500 * time.Millisecond) // what is tested
		name := harness.Comm(worker)
		if !strings.HasPrefix(name, "python3") {
			t.Fatalf("the worker is called %q", name)
		}
		harness.Kill(t, worker, unix.SIGKILL)
		p.WantExit(137)
		p.WantLogged(`"msg":"`+name+`\[\d+\] was killed by SIGKILL`, 1)
		p.WantLogged(`\bsh\[`, 0)
	})
}
