// Package stress tests drainit with a million orphans, system calls that fail, and nothing to lean on.
package stress

import (
	"testing"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
