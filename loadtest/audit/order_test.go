package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

func TestOvertakingIsFound(t *testing.T) {
	c := forge(5)
	judge(t, c, history.Order, history.NotApplicable)
	c.InLine = true
	judge(t, c, history.Order, history.OK)
	c.Ops[3].Sent = c.Ops[1].Sent - ms // it came before order 1, and was served after order 2
	f := judge(t, c, history.Order, history.Broken)
	assert.Contains(t, f.Because,
		"order 1 on b came at +0.010 s and had the lock at +0.012 s, before order 3 on b, which had waited since +0.009 s")
}

func TestAnOrderThatWasNeverAnsweredMayHaveBeenFirst(t *testing.T) {
	c := forge(5)
	c.InLine = true
	lose(&c.Ops[2])
	judge(t, c, history.Order, history.Indeterminate)
}
