package forward

import "drainit/internal/proc"

// looksKnown gives a process with the name of a known program what internal/program knows that program by.
func looksKnown(p *proc.Process) {
	if p.Exe == "composer" {
		p.Exe, p.Args = "php", []string{"php", "/usr/bin/composer", "run"}
	}
}
