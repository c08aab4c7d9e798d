// Package cli tests the command line, and how the worker is started.
package cli

import (
	"testing"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
