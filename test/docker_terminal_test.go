package test

import (
	"strings"
	"testing"
)

// terminal runs a container at a terminal, where keys types.
func (d *dockerd) terminal(t *testing.T, flags []string, command ...string) (c *dockerContainer, keys func(string)) {
	t.Helper()
	master, slave := openPty(t)
	c = d.attach(t, slave, "base", flags, command...)
	c.stdout.eof = make(chan struct{})
	go c.stdout.read(master)
	return c, func(text string) {
		t.Helper()
		if _, err := master.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDockerTerminalInteractiveShell(t *testing.T) {
	t.Parallel()
	c, keys := docker(t).terminal(t, []string{"--interactive", "--tty"}, "/drainit", "--", "sh")
	keys("echo $((40+2)); exit 5\n")
	c.waitOut(`^42\r`)
	c.wantExit(5)
}

func TestDockerTerminalCtrlCDrainsAndOnceMoreKills(t *testing.T) {
	t.Parallel()
	c, keys := docker(t).terminal(t, []string{"--interactive", "--tty"},
		"/drainit", "--", "/worker", "listen", "-catch", "INT", "-end", "INT", "-drain", "1h")
	c.waitOut(`^ready`)
	keys("\x03")
	c.waitOut(`got SIGINT`)
	c.waitOut(`drainit: stopping: .*; what still runs after 30s is killed`)
	pastTheSameRequest()
	keys("\x03")
	c.waitOut(`drainit: warning: second stop signal, force-stop`)
	c.wantExit(137)
}

func TestDockerTerminalWithoutInput(t *testing.T) {
	t.Parallel()
	c, _ := docker(t).terminal(t, []string{"--tty"}, "/drainit", "--", "/worker", "listen", "-drain", "300ms")
	c.waitOut(`^ready`)
	c.do("stop")
	c.wantExit(0)
	c.waitOut(`^drained`)
	c.waitOut(`^drainit: stopped after `) // as text: it is a terminal
	if got := strings.Count(c.stdout.text(), "got SIGTERM"); got != 1 {
		t.Errorf("signalled %d times", got)
	}
}
