// Package signals tests which process gets which signal, and how often.
package signals

import (
	"testing"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
