package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

func TestStockFindsAUnitSoldTwice(t *testing.T) {
	c := forge(5)
	c.Ops[3].Units = []int64{9} // as order 1 was
	f := judge(t, c, history.Stock, history.Broken)
	assert.Equal(t, "b sold unit 9 to order 1 at +0.019 s; b sold unit 9 again to order 3 at +0.039 s", f.Because)
	assert.Equal(t, int64(9), f.Evidence[0].Unit)
	assert.Equal(t, []string{"p-1", "p-3"}, f.Evidence[0].Orders)
	assert.Equal(t, f.Because, audit.Story(audit.Judge(c)))
}

func TestStockThatIsLeftProvesNothing(t *testing.T) {
	c := forge(5)
	c.Ops[3].Units = []int64{9}
	*c.Left = 5 // as if five different units had gone
	judge(t, c, history.Stock, history.Broken)
}

func TestStockFindsUnitsThatNeverExisted(t *testing.T) {
	for _, unit := range []int64{0, -1, 11} {
		c := forge(5)
		c.Ops[4].Units = []int64{unit}
		judge(t, c, history.Stock, history.Broken)
	}
}

func TestStockFindsWhatSalesDoNotExplain(t *testing.T) {
	for _, left := range []int64{4, 6, 11, -1} {
		c := forge(5)
		*c.Left = left
		judge(t, c, history.Stock, history.Broken)
	}
}

// lostSet is a write of the stock that was sent, and whose reply was lost.
var lostSet = history.Command{Node: "n", Cmd: "set", Key: "ProductStock_p", At: 43 * ms, End: 44 * ms, Err: "i/o timeout"}

func TestStockWithLostAnswers(t *testing.T) {
	t.Run("each shows the write that explains a unit that is gone", func(t *testing.T) {
		c := forge(5)
		lose(&c.Ops[4])
		c.Ops[4].Trace = []history.Command{lostSet}
		judge(t, c, history.Stock, history.OK)
	})
	t.Run("one may have sold another's unit again", func(t *testing.T) {
		c := forge(5)
		lose(&c.Ops[4])
		*c.Left = 6
		judge(t, c, history.Stock, history.Unclear)
	})
	t.Run("they do not explain it", func(t *testing.T) {
		c := forge(5)
		lose(&c.Ops[4])
		*c.Left = 2
		judge(t, c, history.Stock, history.Broken)
	})
	t.Run("a definite violation stays one", func(t *testing.T) {
		c := forge(5)
		lose(&c.Ops[4])
		c.Ops[3].Units = []int64{9}
		judge(t, c, history.Stock, history.Broken)
	})
}

func TestStockThatCannotBeReadIsUnknown(t *testing.T) {
	c := forge(5)
	c.Left = nil
	judge(t, c, history.Stock, history.Unclear)
}
