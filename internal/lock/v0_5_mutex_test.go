package lock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A process has one mutex for all products. Another process has another.
func TestMutexGuardsAllProducts(t *testing.T) {
	t.Parallel()
	a, _ := rung(t, "v0.5").Build(Backends{})
	b, _ := rung(t, "v0.5").Build(Backends{})
	holder := must(a(t.Context(), "one product", minute))
	_, err := a(t.Context(), "another product", minute)
	require.ErrorIs(t, err, ErrBusy)
	unlock(t, must(b(t.Context(), "one product", minute)))
	unlock(t, holder)
	unlock(t, must(a(t.Context(), "another product", minute)))
}
