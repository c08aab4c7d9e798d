package terminal

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// pty is the person's side of a terminal.
type pty struct {
	*harness.Init
	master *os.File
}

// launchTTY starts drainit on a terminal of its own.
func launchTTY(t *testing.T, noPID1 bool, args ...string) pty {
	t.Helper()
	return onPty(t, harness.Launch{NoPID1: noPID1, Args: args})
}

func onPty(t *testing.T, l harness.Launch) pty {
	t.Helper()
	master, slave := harness.OpenPty(t)
	l.TTY = slave
	p := pty{harness.Run(t, l), master}
	p.Stdout.Eof = make(chan struct{})
	go p.Stdout.Read(master)
	return p
}

// input is what the person types; \x03 is Ctrl-C.
func (p pty) input(keys string) {
	p.T.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		p.T.Fatal(err)
	}
}

func TestTTYWorkerReadsTheTerminal(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := launchTTY(t, noPID1, "--", "sh", "-c", "read line; echo it was $line; exit 3")
		p.input("abc\n")
		p.WaitOut(`it was abc`)
		p.WantExit(3)
	})
}

func TestTTYInteractiveShellHasTheTerminal(t *testing.T) {
	harness.Need(t, "bash")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := launchTTY(t, noPID1, "--", "bash", "--norc", "-i")
		p.input("echo $((40+2)); exit 5\n")
		p.WaitOut(`42\r\n`)
		p.WantExit(5)
	})
}

func TestTTYCtrlCDrainsAndOnceMoreKills(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := launchTTY(t, noPID1, "--", harness.WorkerBin, "listen", "-catch", "INT", "-end", "INT", "-drain", "1h")
		p.WaitOut(`^ready`)
		p.input("\x03")
		p.WaitOut(`got SIGINT`)
		p.WaitOut(`drainit: stopping: .*; what still runs after 30s is killed`)
		harness.PastTheSameRequest(p.Init)
		p.input("\x03")
		p.WaitOut(`drainit: warning: second stop signal, force-stop: killing worker`)
		p.WantExit(137)
	})
}

// With TOSTOP the kernel stops what writes from the background, unless no process
// could continue it: so there is a shell above drainit here.
func TestTTYLogLineReachesATerminalWithTostop(t *testing.T) {
	harness.Need(t, "stty")
	p := onPty(t, harness.Launch{Bin: "/bin/sh", NoPID1: true, Args: []string{"-c",
		`"$0" -- sh -c 'stty tostop; exec "$0" listen -drain 1s' "$1"; true`, harness.DrainitBin, harness.WorkerBin}})
	p.WaitOut(`ready`)
	for drainit := range harness.ChildrenOf(p.Pid()) {
		harness.Kill(t, drainit, unix.SIGTERM)
	}
	p.WaitOut(`drainit: stopping(?s:.*)drained`) // and not only when the terminal is drainit's again
	p.WantExit(0)
}
