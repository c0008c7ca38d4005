package joint

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatIsTooHeavyIsNotGiven(t *testing.T) {
	_, err := pack("one two three", 10)
	require.ErrorContains(t, err, "more than the 0.0 MB that parties may give each other: use fewer --requests")
	packed, err := pack("one two three", 100)
	require.NoError(t, err)
	var text string
	require.NoError(t, unpack(packed, &text))
	assert.Equal(t, "one two three", text)
	require.Error(t, unpack([]byte("something else"), &text))
}
