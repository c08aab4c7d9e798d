// Package terminal tests a worker on a terminal: Ctrl-C, Ctrl-Z, jobs, and the terminal's modes.
package terminal

import (
	"testing"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
