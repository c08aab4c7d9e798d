// Package compare tests the other inits: what they do, and how to move from them.
package compare

import (
	"testing"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
