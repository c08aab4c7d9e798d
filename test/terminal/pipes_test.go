package terminal

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// pipelines are command lines with pipelines in the worker and around drainit, where
// UNDER stands for it: what a person types into them and sees.
var pipelines = map[string]struct {
	line   string
	talk   func(c *harness.Console)
	status int
}{
	"in the worker":         {`UNDER sh -c 'yes | head -1; exit 4'`, sees(`^y\r\n`), 4},
	"cut off":               {`UNDER yes | head -1; (exit ${PIPESTATUS[0]})`, sees(`^y\r\n`), 141},
	"through":               {`seq 20000 | UNDER cat | tail -1`, sees(`^20000\r\n`), 0},
	"two of them":           {`UNDER echo x1x | UNDER sed s/1/2/`, sees(`^x2x\r\n`), 0},
	"its own end of file":   {`UNDER sh -c 'exec 1>&-; sleep 0.1; exit 4' | cat`, nothing, 0},
	"into a pager":          {`UNDER seq 500 | less`, pages, 0},
	"a pager as the worker": {`seq 500 | UNDER less`, pages, 0},
	"a pager in the worker": {"UNDER sh -c 'seq 500 | less'", pages, 0},
	"reads the terminal":    {`UNDER sh -c 'read x; echo $x' | sed s/b/B/`, says("abc", `^aBc\r\n`), 0},
	"by its name":           {`echo x1x | UNDER sh -c 'read y </dev/tty; read x; echo $y $x' | cat`, says("abc", `^abc x1x\r\n`), 0},
	"in a substitution":     {`echo got $(UNDER sh -c 'read x; echo $x')`, says("abc", `^got abc\r\n`), 0},
	"in a subshell":         {`(UNDER sh -c 'read x; echo got $x'; exit 4)`, says("abc", `^got abc\r\n`), 4},
	"in a loop": {`for n in 1 2 3; do UNDER sh -c "read x; echo got \$x $n"; done`, func(c *harness.Console) {
		for _, n := range []string{"1", "2", "3"} {
			says("abc", `^got abc `+n)(c)
		}
	}, 0},
}

func nothing(*harness.Console) {}

func sees(pattern string) func(c *harness.Console) {
	return func(c *harness.Console) { c.T.Helper(); c.See(pattern) }
}

// says enters a line and sees what is made of it.
func says(line, pattern string) func(c *harness.Console) {
	return func(c *harness.Console) { c.T.Helper(); c.Enter(line); c.See(pattern) }
}

func pages(c *harness.Console) {
	c.See(`20`)
	inPager(c)
}

func TestTTYPipelinesFindNoDifference(t *testing.T) {
	harness.Need(t, "bash", "less")
	t.Parallel()
	for name, p := range pipelines {
		t.Run(name, func(t *testing.T) {
			harness.Beside(t, func(t *testing.T, under string) {
				talkAtShell(t, strings.ReplaceAll(p.line, "UNDER ", under), p.talk, p.status)
			})
		})
	}
}

func TestTTYCtrlZInAPipelineStopsAllOfIt(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]string{"does not read": "", "reads": "read x; "} {
		t.Run(name, func(t *testing.T) {
			harness.BesideAtShell(t, func(t *testing.T, c *harness.Console, under string) {
				c.Enter(under + `sh -c '` + read + `echo ready $$ >/dev/tty; exec worker listen -catch USR1 -end USR1'` +
					` | sh -c 'echo there >/dev/tty; exec sed s/d/D/'`)
				c.WaitOut(`^there`)
				if read != "" {
					c.Enter("abc")
				}
				worker := c.Ready()
				c.WaitOut(`^reaDy`) // it listens
				ctrlZAndFg(c, 3)
				c.Send(worker, unix.SIGUSR1)
				c.See(`^Drained`)
				c.WantPrompt(0)
			})
		})
	}
}
