package stage

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The change of a rung begins with its lesson, not with its signature.
func TestSignaturesAreNoChange(t *testing.T) {
	lines := diff("func a(runtime) TryLock {\n\treturn func(ctx context.Context, _ string) {\n\t\told()\n\t}\n}\n",
		"func b(rt runtime) TryLock {\n\treturn func(ctx context.Context, key string) {\n\t\tnew()\n\t}\n}\n")
	assert.Equal(t, []line{{"-", "    old()"}, {"+", "    new()"}}, slices.DeleteFunc(lines, line.isSignature))
}
