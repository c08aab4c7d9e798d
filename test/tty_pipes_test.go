package test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pipelines are command lines with pipelines in the worker and around drainit, where
// UNDER stands for it: what a person types into them and sees.
var pipelines = map[string]struct {
	line   string
	talk   func(c *console)
	status int
}{
	"in the worker":         {`UNDER sh -c 'yes | head -1; exit 4'`, sees(`^y\r\n`), 4},
	"cut off":               {`UNDER yes | head -1`, sees(`^y\r\n`), 0},
	"cut off, its status":   {`UNDER yes | head -1; (exit ${PIPESTATUS[0]})`, sees(`^y\r\n`), 141},
	"through":               {`echo x1x | UNDER cat | cat`, sees(`^x1x\r\n`), 0},
	"through, all of it":    {`seq 20000 | UNDER cat | tail -1`, sees(`^20000\r\n`), 0},
	"at the end":            {`echo x1x | UNDER sh -c 'cat; exit 4'`, sees(`^x1x\r\n`), 4},
	"two of them":           {`UNDER echo x1x | UNDER sed s/1/2/`, sees(`^x2x\r\n`), 0},
	"its own end of file":   {`UNDER sh -c 'exec 1>&-; sleep 0.1; exit 4' | cat`, nothing, 0},
	"into a pager":          {`UNDER seq 500 | less`, pages, 0},
	"a pager as the worker": {`seq 500 | UNDER less`, pages, 0},
	"which reads the terminal": {`UNDER sh -c 'read x; echo $x' | sed s/1/2/`, func(c *console) {
		c.enter("x1x")
		c.see(`^x2x\r\n`)
	}, 0},
	"which reads the terminal by its name": {`echo x1x | UNDER sh -c 'read y </dev/tty; read x; echo $y $x' | cat`, func(c *console) {
		c.enter("abc")
		c.see(`^abc x1x\r\n`)
	}, 0},
	"in a substitution": {`echo got $(UNDER sh -c 'echo x1x')`, sees(`^got x1x\r\n`), 0},
	"in a substitution, which reads the terminal": {`echo got $(UNDER sh -c 'read x; echo $x')`, func(c *console) {
		c.enter("abc")
		c.see(`^got abc\r\n`)
	}, 0},
	"in a subshell": {`(UNDER sh -c 'read x; echo got $x'; exit 4)`, func(c *console) {
		c.enter("abc")
		c.see(`^got abc\r\n`)
	}, 4},
	"in a loop": {`for n in 1 2 3; do UNDER sh -c "read x; echo got \$x $n"; done`, func(c *console) {
		for _, n := range []string{"1", "2", "3"} {
			c.enter("abc")
			c.see(`^got abc ` + n)
		}
	}, 0},
	"a here document": {"UNDER cat <<END\rx1x\rEND", sees(`^x1x\r\n`), 0},
}

func nothing(*console) {}

func sees(pattern string) func(c *console) {
	return func(c *console) { c.t.Helper(); c.see(pattern) }
}

func pages(c *console) {
	c.see(`20`)
	c.keys("G")
	c.see(`\(END\)`)
	c.keys("q")
}

func TestTTYPipelinesFindNoDifference(t *testing.T) {
	need(t, "bash", "less")
	t.Parallel()
	for name, p := range pipelines {
		t.Run(name, func(t *testing.T) {
			beside(t, func(t *testing.T, under string) {
				talkAtShell(t, strings.ReplaceAll(p.line, "UNDER ", under), p.talk, p.status)
			})
		})
	}
}

// Each process of the pipeline around drainit gets the key, which a reader has to
// ignore so as to read on, and the worker one signal from drainit.
func TestTTYCtrlCInAPipelineDrains(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter("drainit -- worker listen -catch INT -end INT -drain 100ms -exit 7 | sh -c 'trap \"\" INT; cat'; (exit ${PIPESTATUS[0]})")
	c.ready()
	c.keys("\x03")
	c.see(`drained`)
	c.wantPrompt(7)
	c.wantShown(`got SIGINT`, 1)
}

func TestTTYCtrlZInAPipelineStopsAllOfIt(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]string{"does not read": "", "reads": "read x; "} {
		t.Run(name, func(t *testing.T) {
			beside(t, func(t *testing.T, under string) {
				c := atShell(t)
				c.enter(under + `sh -c '` + read + `echo ready $$ >/dev/tty; exec worker listen -catch USR1 -end USR1'` +
					` | sh -c 'echo there >/dev/tty; exec sed s/d/D/'`)
				c.waitOut(`^there`)
				if read != "" {
					c.enter("abc")
				}
				worker := c.ready()
				c.waitOut(`^reaDy`) // it listens
				for range 3 {
					c.keys("\x1a")
					c.wantStopped()
					c.fg()
				}
				c.send(worker, unix.SIGUSR1)
				c.see(`^Drained`)
				c.wantPrompt(0)
			})
		})
	}
}
