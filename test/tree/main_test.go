// Package tree tests what becomes of the processes below: who is signalled, killed, waited for and left.
package tree

import (
	"testing"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
