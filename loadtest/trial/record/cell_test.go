package record_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// An order without an answer has not sold if it sent no write, unless commands were not observed.
func TestUnansweredOrderIsJudgedByItsWrites(t *testing.T) {
	f := forge.Begin()
	commands := observed{f.Acquire(10), f.Read(20)}
	anna := f.Order("anna", atA, history.Unknown, 0, 0, commands...)
	op := record.Op(f.Bench, anna, commands, nil, true)
	assert.Equal(t, history.NotSold, op.Outcome)
	assert.Equal(t, "10000-anna", op.Order)
	assert.Equal(t, history.Never, op.Done)
	assert.Equal(t, history.Unknown, record.Op(f.Bench, anna, commands, nil, false).Outcome, "nobody looked")
	commands = append(commands, f.Write(30))
	op = record.Op(f.Bench, anna, commands, []int64{10}, true)
	assert.Equal(t, history.Unknown, op.Outcome)
	assert.Equal(t, []int64{10}, op.Units)
	assert.Len(t, op.Trace, 3)
}

// Which order sold is unknown if one of several wrote the stock, and no unit is missing.
func TestUnattributedWritesLeaveOutcomesUnknown(t *testing.T) {
	f := forge.Begin()
	anna := f.Order("anna", atA, history.Unknown, 0, 0, f.Tried(10))
	anna.Left = true
	f.Order("bert", atA, history.Sold, 100, 190)
	f.Record[nil] = observed{f.Acquire(110), f.Write(130), f.Del(140)}
	c := &history.Cell{}
	record.AddOps(f.Bench, c, f.Record, nil, true, f.After(60000))
	for _, op := range c.Ops {
		assert.Equal(t, history.Unknown, op.Outcome)
	}
	assert.Len(t, c.Strays, 3)
}

// The end of a lock is noted in the trace of the order that held it then, whatever its record shows of the time after.
func TestEndsBelongToHolders(t *testing.T) {
	f := forge.Begin()
	inFlight := f.Acquire(60)
	inFlight.Effects[0].At = history.At(f.Cell.Start, f.After(49))
	f.Order("anna", atA, history.Sold, 0, 200, f.Acquire(10), f.Write(70))
	f.Order("bert", atB, history.Sold, 20, 200, f.Tried(30), inFlight, f.Write(80), f.Release(150))
	f.Order("clara", atB, history.Sold, 20, 200, f.Acquire(120))
	for _, end := range []struct {
		ms  int
		why string
	}{{5, "before"}, {50, history.LockRemoved}, {55, "in between"}, {100, history.LeaseOver}, {110, "again"},
		{119, history.LocksLost}} {
		f.NoteEnds(f.After(end.ms), end.why)
	}
	record.AddOps(f.Bench, f.Cell, f.Record, nil, true, f.After(200))
	record.AssignEnds(f.Bench, f.Cell)
	var notes []string
	for _, op := range f.Cell.Ops {
		for _, c := range op.Trace {
			if c.Ended() {
				notes = append(notes, op.Order+": "+c.Reply)
				assert.Equal(t, forge.LockKey, c.Key)
				assert.Equal(t, history.Looked, c.Source)
			}
		}
	}
	assert.Equal(t, []string{"10000-anna: removed", "10000-bert: lease over"}, notes)
}

// If every answer looks like a sale, an order has sold if it wrote the stock.
func TestOrdersAreJudgedByTheirWrites(t *testing.T) {
	f := forge.Begin()
	f.Passport.ByWrites = true
	sold := f.Order("anna", atA, history.Sold, 0, 40)
	refused := f.Order("bert", atB, history.Sold, 0, 40)
	failed := f.Order("clara", atB, history.Unknown, 0, 40)
	record.JudgeByWrites(f.Bench, map[*shop.Order][]int64{sold: {10}})
	assert.Equal(t, history.Sold, sold.Op.Outcome)
	assert.Equal(t, history.Busy, refused.Op.Outcome)
	assert.Equal(t, history.Unknown, failed.Op.Outcome)
}

// Each request has its order. After Bert has ordered at Anna's instance, the link counts her requests as his, so later
// ones have no number; and while neither is blocked, any may be either's.
func TestRequestsAreThoseOfOrders(t *testing.T) {
	f := forge.Begin()
	anna, bert := f.Order("anna", atA, history.Sold, 0, 500), f.Order("bert", atA, history.Sold, 100, 600)
	anna.InDatabase, bert.InDatabase = 1, 2
	anna.Blocked = shop.Span{From: f.After(90), To: f.After(200)}
	piece := func(ms, conn, order, number int, reply bool) rig.Piece {
		return rig.Piece{Conn: conn, Order: order, Number: number, Reply: reply,
			Began: f.After(ms), PassedOn: f.After(ms + 1)}
	}
	held := piece(80, 1, 1, 2, false)
	held.PassedOn = f.After(400)
	requests := record.RequestsAt(f.Bench, atA, []rig.Piece{piece(10, 1, 1, 1, false), piece(11, 1, 1, 1, true), held,
		piece(120, 2, 2, 1, false), piece(121, 2, 2, 1, true), piece(130, 3, 2, 0, false), piece(250, 4, 2, 2, false),
		piece(402, 1, 1, 2, true), piece(550, 2, 2, 3, false)}, f.Record)
	var got []string
	for _, r := range requests {
		got = append(got, fmt.Sprintf("%s %d %s %s %s", r.Order, r.Number, r.Came, r.Sent, r.Answered))
	}
	assert.Equal(t, []string{"10000-anna 1 +0.010 s +0.011 s +0.011 s", "10000-anna 2 +0.080 s +0.400 s +0.402 s",
		"10000-bert 1 +0.120 s +0.121 s +0.121 s", " 0 +0.250 s +0.251 s never", "10000-bert 0 +0.550 s +0.551 s never"}, got)
}

// An order whose acquire is answered goes on until its next request to the database.
func TestOrderIsHeldAtItsWork(t *testing.T) {
	f := forge.Begin()
	f.Pair.Context, f.Pair.Rig.Gate = t.Context(), wire.NewGate(nil)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	d, err := rig.NewDatabase(server.Addr().String())
	require.NoError(t, err)
	defer d.Close()
	f.Pair.Rig.Ends[atA].Database = d
	for _, asks := range []bool{true, false} {
		w := f.SetWorkTrap(&rig.CommandTrap{Reply: true})
		d.BeginOrder()
		c, err := net.Dial("tcp", d.Addr())
		require.NoError(t, err)
		assert.True(t, w.GoToRequest(d))
		if asks {
			_, err = c.Write([]byte("BEGIN"))
			require.NoError(t, err)
			<-w.Request.Caught()
		}
		w.GoOn()
		w.GoOn()
		assert.False(t, w.GoToRequest(d), "it was removed")
		assert.NoError(t, c.Close())
	}
}
