// Package inspect tests what can be asked of a running drainit: the verbs, the probes and the title.
package inspect

import (
	"testing"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
