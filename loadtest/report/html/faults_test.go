package html_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// A fault of the network or of a server has a lane of its own, to scale, and is not drawn on the order.
func TestFaultsOfTheNetworkHaveALane(t *testing.T) {
	c := cellOf("cut-off", "v5", sale("lt-beef-3-v5-1", "a", 98, 10, 90), sale("lt-beef-3-v5-2", "b", 98, 50, 60))
	c.Faults = []history.Fault{
		{Order: "lt-beef-3-v5-1", Instance: "a", On: "network", Text: "cut off from its lock", At: 20 * ms, End: 80 * ms},
		{Order: "lt-beef-3-v5-1", Instance: "a", On: "stock", Text: "long over", At: 1e6 * ms, End: 2e6 * ms},
	}
	doc := render(t, runOf(c))
	says(t, doc, "network", "a, cut off from its lock", "fault cut off from its lock, 20.0 ms to 80.0 ms")
	assert.NotContains(t, doc, "stock's server", "it lies outside of what is shown")
	assert.Equal(t, 1, strings.Count(doc, `aria-label="fault cut off`)+strings.Count(doc, "<title>fault cut off"))
}
