package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/trial/sale"
)

// Commands are late commands if they came once after each order, after about the same time.
func TestLateCommandsComeAgain(t *testing.T) {
	at := func(ms int) sale.LateCommand { return sale.LateCommand{After: time.Duration(ms) * time.Millisecond} }
	assert.True(t, isLike(at(200), at(240)))
	assert.False(t, isLike(at(200), at(500)))
	assert.False(t, isLike(at(200), sale.LateCommand{}), "it came twice, or not at all")
}
