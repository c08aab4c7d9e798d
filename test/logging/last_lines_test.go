package logging

import (
	"syscall"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/rows"
)

func term(p *harness.Init) { p.Signal(syscall.SIGTERM) }

// deaths are the ends of drainit.
var deaths = map[string]func(p *harness.Init){
	"TERM": term,
	"HUP":  func(p *harness.Init) { p.Signal(syscall.SIGHUP) },
	"forced": func(p *harness.Init) {
		term(p)
		p.WaitErr(`what still runs after`)
		harness.PastTheSameRequest()
		term(p)
	},
	"killed": func(p *harness.Init) {
		term(p)
		p.WaitErr(`what still runs after`)
		harness.Kill(p.T, p.ReadyPid(`^ready`), syscall.SIGKILL)
	},
}

func TestLastLinesSayWhatTheStatusDoesNot(t *testing.T) {
	for _, row := range rows.Read(t, "testdata/deaths.tsv", 6) {
		t.Run(row[0], func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line(
					[]string{"--log-format=text", "--grace=" + row[1]}, harness.Script(row[2])...)})
				p.WaitOut(`^ready`)
				deaths[row[3]](p)
				p.WantExit(harness.Number(t, row[4]))
				p.WantLogged(row[5], 1)
			})
		})
	}
}
