// Package workers tests real workers, started in all the ways that people start them.
package workers

import (
	"testing"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
