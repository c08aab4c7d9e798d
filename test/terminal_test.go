package test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// pty is the person's side of a terminal.
type pty struct {
	*Init
	master *os.File
}

// launchTTY starts drainit on a terminal of its own.
func launchTTY(t *testing.T, noPID1 bool, args ...string) pty {
	t.Helper()
	return onPty(t, Launch{NoPID1: noPID1, Args: args})
}

func onPty(t *testing.T, l Launch) pty {
	t.Helper()
	master, slave := openPty(t)
	l.TTY = slave
	p := pty{launch(t, l), master}
	p.stdout.eof = make(chan struct{})
	go p.stdout.read(master)
	return p
}

// input is what the person types; \x03 is Ctrl-C.
func (p pty) input(keys string) {
	p.t.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

func TestTTYWorkerReadsTheTerminal(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		p := launchTTY(t, noPID1, "--", "sh", "-c", "read line; echo it was $line; exit 3")
		p.input("abc\n")
		p.waitOut(`it was abc`)
		p.wantExit(3)
	})
}

func TestTTYInteractiveShellHasTheTerminal(t *testing.T) {
	need(t, "bash")
	bothModes(t, func(t *testing.T, noPID1 bool) {
		p := launchTTY(t, noPID1, "--", "bash", "--norc", "-i")
		p.input("echo $((40+2)); exit 5\n")
		p.waitOut(`42\r\n`)
		p.wantExit(5)
	})
}

func TestTTYCtrlCDrainsAndOnceMoreKills(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		p := launchTTY(t, noPID1, "--", workerBin, "listen", "-catch", "INT", "-end", "INT", "-drain", "1h")
		p.waitOut(`^ready`)
		p.input("\x03")
		p.waitOut(`got SIGINT`)
		p.waitOut(`drainit: stopping: .*; what still runs after 30s is killed`)
		pastTheSameRequest()
		p.input("\x03")
		p.waitOut(`drainit: warning: second stop signal, force-stop: killing worker`)
		p.wantExit(137)
	})
}

// With TOSTOP the kernel stops what writes from the background, unless no process
// could continue it: so there is a shell above drainit here.
func TestTTYLogLineReachesATerminalWithTostop(t *testing.T) {
	need(t, "stty")
	p := onPty(t, Launch{Bin: "/bin/sh", NoPID1: true, Args: []string{"-c",
		`"$0" -- sh -c 'stty tostop; exec "$0" listen -drain 1s' "$1"; true`, drainitBin, workerBin}})
	p.waitOut(`ready`)
	for drainit := range childrenOf(p.Pid()) {
		if err := unix.Kill(drainit, unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	p.waitOut(`drainit: stopping(?s:.*)drained`) // and not only when the terminal is drainit's again
	p.wantExit(0)
}
